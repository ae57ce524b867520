//! Where values stand: placed by host or loader, or moved by exchanges and local copies.

use super::{Home, PlanError, Planner, TensorValue, row_layout};
use indexmap::IndexMap;
use ipucc_chip::{LogicalTile, ScalarType};
use ipucc_tensor::{Builder, Inst, Module, Op, Port, TensorType, interp};
use ipucc_tile::kernel::{Access, Expr, Fill, Kernel, Map, Words};
use ipucc_tile::transfers::{LocalCopy, TransferError, local_calls, transfer};
use ipucc_tile::{
    AxisCut, Binding, Call, Compute, Distribution, Exchange, Layout, LayoutKind, MemoryClass,
    Operand, Padding, Role, Shape, Step, TileSet, Transfer, Value, ValueData, WeightProgram,
};
use smallvec::{SmallVec, smallvec};

/// Where and how a value stands.
#[derive(Clone)]
pub(super) struct Place {
    pub distribution: Distribution,
    pub layout: Layout,
    pub memory: MemoryClass,
    /// What readers ask of the padding. The host and the loader always write zeros, kernels
    /// anything; moved values are cleared first if zero is asked for.
    pub padding: Padding,
}

impl Planner<'_> {
    /// A distribution over all tiles for a value that nothing places.
    fn spread(&self, shape: &[u32]) -> Distribution {
        let granules: Vec<u32> = (0..shape.len())
            .map(|axis| if axis + 1 == shape.len() { 2 } else { 1 })
            .collect();
        let cuts = even_cuts(shape, &granules, self.tiles);
        let parts: u32 = cuts.iter().map(|cut| cut.parts).product();
        let tiles = (0..parts as u16).map(LogicalTile).collect();
        Distribution {
            cuts,
            replicas: 1,
            tiles,
        }
    }

    /// Rows over all tiles for a value that nothing places.
    pub(super) fn spread_place(&self, ty: &TensorType) -> Place {
        Place {
            distribution: self.spread(&ty.shape),
            layout: row_layout(ty.rank(), ty.element),
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        }
    }

    pub(super) fn add_value(
        &mut self,
        name: String,
        ty: &TensorType,
        place: Place,
        role: Role,
    ) -> Value {
        let number = self.program.values.len();
        let padding = match role {
            Role::Input(_) | Role::Weight(_) => Padding::Zero,
            Role::Temporary | Role::Output(_) => place.padding,
        };
        self.program.values.push(ValueData {
            name: format!("{name}.{number}"),
            element: ty.element,
            shape: ty.shape.clone(),
            distribution: place.distribution,
            layout: place.layout,
            memory: place.memory,
            align_bytes: 16,
            tail_bytes: 8,
            padding,
            role,
            origin: None,
            tensor: None,
        })
    }

    /// A parameter that nothing has placed yet, written by the host where `place` says.
    fn placed_by_host(&mut self, index: usize, place: Place) -> Value {
        let port = &self.function.params[index];
        let ty = self.function.ty(port.value);
        let role = Role::Input(port.name.clone());
        let placed = self.add_value(self.name_of(port.value), ty, place, role);
        let binding = Binding {
            value: placed,
            host: port.host,
            shape: ty.shape.clone(),
        };
        self.program.inputs.insert(port.name.clone(), binding);
        self.homes.insert(port.value, Home::Tiles(placed));
        placed
    }

    /// A parameter on tiles, spread if nothing has placed it; `None` if it is none.
    pub(super) fn parameter(&mut self, value: TensorValue) -> Option<Value> {
        match self.homes.get(&value)? {
            Home::Tiles(placed) => Some(*placed),
            Home::Param(index) => {
                let place = self.spread_place(self.function.ty(value));
                Some(self.placed_by_host(*index, place))
            }
            Home::Lazy(_) => None,
        }
    }

    /// A copy of a value where it stands, for a result of its own.
    pub(super) fn copied(&mut self, value: Value, port: &Port) -> Result<Value, PlanError> {
        let data = &self.program.values[value];
        let place = Place {
            distribution: data.distribution.clone(),
            layout: data.layout.clone(),
            memory: data.memory,
            padding: Padding::Anything,
        };
        let ty = TensorType::new(data.element, data.shape.iter().copied());
        let copy = self.moved(value, port.name.clone(), &ty, place, &|index| {
            Some(Shape::from(index))
        });
        copy.map_err(|message| PlanError {
            place: format!("result `{}`", port.name),
            message,
        })
    }

    /// A tensor value with this distribution and layout: placed by the host or the loader if
    /// nothing holds it yet, moved by an exchange otherwise.
    pub(super) fn bring(
        &mut self,
        value: TensorValue,
        at: Inst,
        place: Place,
    ) -> Result<Value, PlanError> {
        let ty = self.function.ty(value).clone();
        let name = self.name_of(value);
        match self.homes.get(&value).cloned() {
            Some(Home::Param(index)) => return Ok(self.placed_by_host(index, place)),
            Some(Home::Lazy(inst)) => {
                if let Some(program) = self.weight_program(value, inst) {
                    let stored = format!("{name}.{}", self.program.weights.len());
                    let role = Role::Weight(stored.clone());
                    let placed = self.add_value(name, &ty, place, role);
                    self.program.weights.insert(stored, program);
                    return Ok(placed);
                }
            }
            _ => {}
        }
        // Through views to the value that is on tiles, or that the host or a kernel puts there.
        let mut views: Vec<Inst> = Vec::new();
        let mut root = value;
        while let Some(Home::Lazy(inst)) = self.homes.get(&root)
            && self.is_view(*inst)
        {
            views.push(*inst);
            root = self.function.insts[*inst].operands[0];
        }
        let source = self.materialize(root, at)?;
        // Only without views do equal places hold equal elements.
        if views.is_empty() && self.stands(source, &place) {
            return Ok(source);
        }
        let function = self.function;
        let map = move |index: &[u32]| {
            Some(views.iter().fold(Shape::from(index), |index, &view| {
                let data = &function.insts[view];
                let (from, to) = (function.ty(data.operands[0]), function.ty(data.results[0]));
                view_index(&data.op, &index, &to.shape, &from.shape)
            }))
        };
        let moved = self.moved(source, name, &ty, place, &map);
        moved.map_err(|message| self.error(at, message))
    }

    pub(super) fn compute(&mut self, label: String, calls: Vec<Call>) {
        let step = Step::Compute(Compute { label, calls });
        self.program.steps.push(step);
    }

    /// True for operations that only say where elements stand.
    pub(super) fn is_view(&self, inst: Inst) -> bool {
        matches!(
            self.function.insts[inst].op,
            Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. } | Op::Windows { .. }
        )
    }

    /// True if a value stands as `place` says.
    fn stands(&self, value: Value, place: &Place) -> bool {
        let data = &self.program.values[value];
        let padded = || {
            let mut shards = data.shards();
            shards.any(|shard| has_padding(data, &shard.extents()))
        };
        data.distribution == place.distribution
            && data.layout == place.layout
            && data.memory == place.memory
            && (data.padding == place.padding || place.padding == Padding::Anything || !padded())
    }

    /// A tile value of this type, distribution and layout from another: `map` gives the source's
    /// index of every index of the new value.
    pub(super) fn moved(
        &mut self,
        source: Value,
        name: String,
        ty: &TensorType,
        place: Place,
        map: &dyn Fn(&[u32]) -> Option<Shape>,
    ) -> Result<Value, String> {
        if let Some(layout) = self.landing(source, ty, &place, map) {
            let landing = Place {
                layout,
                memory: MemoryClass::Any,
                padding: Padding::Anything,
                distribution: place.distribution.clone(),
            };
            let landed = self.moved_at_once(source, format!("{name}.landing"), ty, landing, map)?;
            let same = |index: &[u32]| Some(Shape::from(index));
            return self.moved_at_once(landed, name, ty, place, &same);
        }
        self.moved_at_once(source, name, ty, place, map)
    }

    fn moved_at_once(
        &mut self,
        source: Value,
        name: String,
        ty: &TensorType,
        place: Place,
        map: &dyn Fn(&[u32]) -> Option<Shape>,
    ) -> Result<Value, String> {
        let target = self.add_value(name.clone(), ty, place, Role::Temporary);
        let (moved, local) = match self.pieces(source, target, map) {
            Ok(pieces) => pieces,
            Err(TransferError::HalfWords { .. }) if ty.element == ScalarType::F16 => {
                self.moved_as_words(source, target, &name, map)?;
                return Ok(target);
            }
            Err(error) => return Err(error.to_string()),
        };
        self.clear_padding(target, &name);
        self.push_move(source, target, &name, (moved, local));
        Ok(target)
    }

    /// The layout in which elements should arrive if they cannot stay together on the way to the one
    /// that is wanted: what is innermost at the source is not innermost there, so that every word
    /// would be a piece of its own. Elements that arrive in the source's order are put into theirs
    /// on the tile.
    fn landing(
        &self,
        source: Value,
        ty: &TensorType,
        place: &Place,
        map: &dyn Fn(&[u32]) -> Option<Shape>,
    ) -> Option<Layout> {
        let data = &self.program.values[source];
        let rank = ty.rank();
        let inner = usize::from(*data.layout.order.last()?);
        let innermost = usize::from(*place.layout.order.last()?);
        if ty.elements() == 0 || rank < 2 {
            return None;
        }
        // The axis along which one step is one step along the source's innermost axis.
        let origin = map(&Shape::from_elem(0, rank))?;
        let follows = |axis: usize| {
            if ty.shape[axis] < 2 {
                return false;
            }
            let mut index = Shape::from_elem(0, rank);
            index[axis] = 1;
            let step = map(&index);
            step.is_some_and(|at| {
                (0..origin.len()).all(|a| at[a] == origin[a] + u32::from(a == inner))
            })
        };
        let axis = (0..rank).find(|&axis| follows(axis))?;
        // Pieces of at least two words are worth it, if both sides keep them together.
        let piece = |value: &Distribution, shape: &[u32], axis: usize| {
            let (low, high) = value.cuts[axis].interval(shape[axis], 0);
            high - low
        };
        let together = piece(&place.distribution, &ty.shape, axis).min(piece(
            &data.distribution,
            &data.shape,
            inner,
        ));
        let words = together * ty.element.bytes() / 4;
        if axis == innermost || words < 2 {
            return None;
        }
        let mut order: SmallVec<[u8; 4]> = place
            .layout
            .order
            .iter()
            .copied()
            .filter(|&other| usize::from(other) != axis)
            .collect();
        order.push(axis as u8);
        Some(Layout {
            kind: LayoutKind::Row {
                pitch: 8 / ty.element.bytes(),
            },
            order,
        })
    }

    /// Moves f16 elements one by one, each in a word, through a copy of the source and one of the
    /// target.
    fn moved_as_words(
        &mut self,
        source: Value,
        target: Value,
        name: &str,
        map: &dyn Fn(&[u32]) -> Option<Shape>,
    ) -> Result<(), String> {
        let words = self.as_words(source, name);
        let wide = self.like_in_words(target, format!("{name}.moved"));
        self.clear_padding(wide, name);
        let pieces = self
            .pieces(words, wide, map)
            .map_err(|error| error.to_string())?;
        self.push_move(words, wide, name, pieces);
        self.joined_words(wide, target, name);
        Ok(())
    }

    /// What moves from one value to another: words between tiles and copies on them.
    pub(super) fn pieces(
        &self,
        source: Value,
        target: Value,
        map: &dyn Fn(&[u32]) -> Option<Shape>,
    ) -> Result<(Transfer, Vec<LocalCopy>), TransferError> {
        transfer(&self.program, source, target, map)
    }

    /// A value of words that stands like another.
    fn like_in_words(&mut self, like: Value, name: String) -> Value {
        let data = &self.program.values[like];
        let place = Place {
            distribution: data.distribution.clone(),
            layout: data.layout.clone(),
            memory: MemoryClass::Any,
            padding: data.padding,
        };
        let ty = TensorType::new(ScalarType::I32, data.shape.iter().copied());
        self.add_value(name, &ty, place, Role::Temporary)
    }

    /// The elements of an f16 value as words, bit by bit: an f32 would not keep infinities
    /// (`isa/float.md` 3.2).
    pub(super) fn as_words(&mut self, source: Value, name: &str) -> Value {
        let words = self.like_in_words(source, format!("{name}.words"));
        self.change_words(source, words, false, format!("{name} (to words)"));
        words
    }

    /// The other way.
    pub(super) fn joined_words(&mut self, words: Value, target: Value, name: &str) {
        self.change_words(words, target, true, format!("{name} (from words)"));
    }

    fn change_words(&mut self, from: Value, to: Value, narrow: bool, label: String) {
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(to) {
            let count = self.program.values[to].layout.elements(&extents) as u32;
            let kernel = Kernel::Words(Words { count, narrow });
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands: smallvec![from.into(), to.into()],
            });
        }
        self.compute(label, calls);
    }

    /// Converts every element, padding included, of a value into one that stands like it.
    pub(super) fn convert(&mut self, from: Value, to: Value, label: &str) {
        let (source, target) = (&self.program.values[from], &self.program.values[to]);
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(to) {
            let elements = target.layout.elements(&extents) as u32;
            let kernel = cast(elements, source.element, target.element);
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands: smallvec![from.into(), to.into()],
            });
        }
        self.compute(label.to_owned(), calls);
    }

    /// Adds the steps of a movement: words between tiles, copies on them.
    pub(super) fn push_move(
        &mut self,
        source: Value,
        target: Value,
        name: &str,
        (moved, local): (Transfer, Vec<LocalCopy>),
    ) {
        if !moved.runs.is_empty() {
            let step = Exchange {
                label: name.to_owned(),
                transfers: vec![moved],
            };
            self.program.steps.push(Step::Exchange(step));
        }
        let mut calls: Vec<Call> = Vec::new();
        let mut groups: IndexMap<(Kernel, [Operand; 2]), Vec<LogicalTile>> = IndexMap::new();
        for (tile, kernel, operands) in local_calls(&local, source, target) {
            groups.entry((kernel, operands)).or_default().push(tile);
        }
        for ((kernel, operands), tiles) in groups {
            let operands = operands.into_iter().collect();
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands,
            });
        }
        if !calls.is_empty() {
            self.compute(format!("{name} (local)"), calls);
        }
    }

    /// Zeros in the shards of a value whose padding must be zero and that have any.
    fn clear_padding(&mut self, value: Value, name: &str) {
        let data = &self.program.values[value];
        if data.padding != Padding::Zero {
            return;
        }
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(value) {
            if !has_padding(data, &extents) {
                continue;
            }
            let words = data.shard_bytes(&extents) / 4;
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel: Kernel::Fill(Fill { words, word: 0 }),
                operands: smallvec![value.into()],
            });
        }
        if !calls.is_empty() {
            self.compute(format!("{name} (padding)"), calls);
        }
    }

    /// The program of a value that weights and constants alone decide.
    pub(super) fn weight_program(&self, value: TensorValue, inst: Inst) -> Option<WeightProgram> {
        let mut builder = Builder::new("main");
        let mut module = Module::default();
        let mut made = IndexMap::new();
        let root = self.weight_value(value, inst, &mut builder, &mut module, &mut made)?;
        builder.result("stored", root);
        module.functions.insert("main".into(), builder.finish());
        Some(WeightProgram { module })
    }

    pub(super) fn weight_value(
        &self,
        value: TensorValue,
        inst: Inst,
        builder: &mut Builder,
        module: &mut Module,
        made: &mut IndexMap<TensorValue, TensorValue>,
    ) -> Option<TensorValue> {
        if let Some(&known) = made.get(&value) {
            return Some(known);
        }
        let data = &self.function.insts[inst];
        if let Op::Weight(name) = &data.op {
            module
                .weights
                .insert(name.clone(), self.module.weights.get(name)?.clone());
            let weight = builder.weight(name.clone(), self.function.ty(value).clone());
            made.insert(value, weight);
            return Some(weight);
        }
        let mut operands = Vec::new();
        for &operand in &data.operands {
            match self.homes.get(&operand)? {
                Home::Lazy(inner) => {
                    operands.push(self.weight_value(operand, *inner, builder, module, made)?);
                }
                _ => return None,
            }
        }
        let result = builder.op(data.op.clone(), &operands).ok()?;
        made.insert(value, result);
        Some(result)
    }
}

/// A conversion of contiguous elements.
fn cast(elements: u32, from: ScalarType, to: ScalarType) -> Kernel {
    let access = |element| Access {
        element,
        strides: smallvec![1],
    };
    Kernel::Map(Map {
        extents: smallvec![elements],
        inputs: smallvec![access(from)],
        output: access(to),
        nodes: vec![Expr::Input(0), Expr::Convert(to, 0)],
    })
}

/// Cuts of all axes into at most `tiles` blocks, the fullest as small as steps of one axis make it:
/// the axis with the longest piece is cut further until nothing fits; of equals the outermost.
pub(super) fn even_cuts(shape: &[u32], granules: &[u32], tiles: u32) -> SmallVec<[AxisCut; 4]> {
    let extents: Vec<u32> = shape
        .iter()
        .zip(granules)
        .map(|(&extent, &granule)| extent.div_ceil(granule).max(1))
        .collect();
    let mut parts = vec![1u32; shape.len()];
    let piece = |axis: usize, parts: &[u32]| extents[axis].div_ceil(parts[axis]);
    loop {
        let others = |axis: usize| -> u32 {
            let rest = (0..parts.len()).filter(|&other| other != axis);
            rest.map(|other| parts[other]).product()
        };
        // The least number of parts with smaller pieces, if the tiles allow it.
        let finer = |axis: usize| -> Option<u32> {
            let smaller = piece(axis, &parts).checked_sub(1).filter(|&p| p > 0)?;
            let next = extents[axis].div_ceil(smaller);
            (u64::from(next) * u64::from(others(axis)) <= u64::from(tiles)).then_some(next)
        };
        let best = (0..parts.len())
            .filter(|&axis| finer(axis).is_some())
            .max_by_key(|&axis| (piece(axis, &parts), usize::MAX - axis));
        let Some((axis, next)) = best.and_then(|axis| Some((axis, finer(axis)?))) else {
            break;
        };
        parts[axis] = next;
    }
    parts
        .iter()
        .zip(granules)
        .map(|(&parts, &granule)| AxisCut { parts, granule })
        .collect()
}

/// True if a shard with these extents has bytes that hold no element.
fn has_padding(data: &ValueData, extents: &[u32]) -> bool {
    let elements: u64 = extents.iter().map(|&extent| u64::from(extent)).product();
    u64::from(data.shard_bytes(extents)) != elements * u64::from(data.element.bytes())
}

/// The operand's index of an index of a view's result.
pub(super) fn view_index(op: &Op, index: &[u32], shape: &[u32], from: &[u32]) -> Shape {
    match op {
        Op::Transpose(permutation) => {
            let mut out = Shape::from_elem(0, from.len());
            for (to, &axis) in permutation.iter().enumerate() {
                out[axis as usize] = index[to];
            }
            out
        }
        Op::Windows {
            first,
            size,
            strides,
            dilation,
        } => interp::windows_index(*first, size, strides, dilation, index).into(),
        Op::Slice {
            starts, strides, ..
        } => index
            .iter()
            .zip(starts.iter().zip(strides))
            .map(|(&i, (&start, &stride))| {
                (i64::from(start) + i64::from(i) * i64::from(stride)) as u32
            })
            .collect(),
        _ => {
            // A reshape keeps the row-major position.
            let mut flat = index
                .iter()
                .zip(shape)
                .fold(0u64, |sum, (&i, &e)| sum * u64::from(e) + u64::from(i));
            let mut out = Shape::from_elem(0, from.len());
            for axis in (0..from.len()).rev() {
                out[axis] = (flat % u64::from(from[axis])) as u32;
                flat /= u64::from(from[axis]);
            }
            out
        }
    }
}
