//! Building functions in Rust: every operation is typed when it is added.

use crate::infer::TypeError;
use crate::module::{Def, Function, InstData, Port, Span, Value, ValueData};
use crate::op::{Axes, BinaryOp, CompareOp, Op, ReduceKind, UnaryOp};
use crate::ty::{Shape, TensorType};
use crate::verify::signature;
use ipucc_chip::{HostType, ScalarType};
use smallvec::SmallVec;

/// Builds one function. Methods return the result value, or the type error of that operation; an
/// operation that fails adds nothing.
///
/// ```
/// use ipucc_chip::ScalarType::{F16, F32};
/// use ipucc_tensor::{BinaryOp, Builder, Op, TensorType};
///
/// let mut f = Builder::new("main");
/// let x = f.param("x", TensorType::new(F32, [4, 8]));
/// let row = f.param("row", TensorType::new(F32, [8]));
/// // Shapes are broadcast as NumPy does ..
/// let sum = f.binary(BinaryOp::Add, x, row)?;
/// assert_eq!(f.ty(sum).to_string(), "tensor<4x8xf32>");
/// // .. element types never are: that is an error here, not later.
/// let half = f.op(Op::Convert(F16), &[row])?;
/// let error = f.binary(BinaryOp::Add, x, half).unwrap_err();
/// assert_eq!(error.op, "add");
/// f.result("y", sum);
/// # Ok::<(), ipucc_tensor::TypeError>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    function: Function,
    span: Span,
    origin: Option<String>,
}

impl Builder {
    /// An empty function.
    pub fn new(name: impl Into<String>) -> Builder {
        Builder {
            function: Function {
                name: name.into(),
                ..Function::default()
            },
            span: Span::default(),
            origin: None,
        }
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> &TensorType {
        self.function.ty(value)
    }

    /// What following instructions stem from: source text and, for importers, a node name.
    pub fn at(&mut self, span: Span, origin: Option<String>) {
        self.span = span;
        self.origin = origin;
    }

    /// Adds a parameter whose host buffer has the device type's counterpart.
    pub fn param(&mut self, name: impl Into<String>, ty: TensorType) -> Value {
        let host = ty.element.host();
        self.param_with_host(name, ty, host)
    }

    /// Adds a parameter with a host type of its own.
    pub fn param_with_host(
        &mut self,
        name: impl Into<String>,
        ty: TensorType,
        host: HostType,
    ) -> Value {
        let name = name.into();
        let number = self.function.params.len() as u32;
        let value = self.function.values.push(ValueData {
            ty,
            def: Def::Param(number),
            name: Some(name.clone()),
        });
        self.function.params.push(Port { name, value, host });
        value
    }

    /// Adds an operation.
    ///
    /// # Errors
    /// The operands' types do not fit.
    pub fn op(&mut self, op: Op, operands: &[Value]) -> Result<Value, TypeError> {
        let types: Vec<TensorType> = operands.iter().map(|&v| self.ty(v).clone()).collect();
        let ty = op.infer(&types)?;
        Ok(self.push(op, operands, ty))
    }

    /// Adds a reference to a weight of the module, which has this type.
    pub fn weight(&mut self, name: impl Into<String>, ty: TensorType) -> Value {
        self.push(Op::Weight(name.into()), &[], ty)
    }

    /// Adds an operation with any number of results (`call`, `repeat`).
    ///
    /// # Errors
    /// The operands' types do not fit.
    pub fn op_all(&mut self, op: Op, operands: &[Value]) -> Result<Vec<Value>, TypeError> {
        let types: Vec<TensorType> = operands.iter().map(|&v| self.ty(v).clone()).collect();
        let types = op.infer_all(&types)?;
        Ok(self.push_all(op, operands, types))
    }

    /// Calls another function of the module; its results.
    ///
    /// # Errors
    /// The operands are not what the function takes.
    pub fn call(&mut self, callee: &Function, operands: &[Value]) -> Result<Vec<Value>, TypeError> {
        let op = Op::Call {
            function: callee.name.clone(),
            results: callee.result_types(),
        };
        let types: Vec<TensorType> = operands.iter().map(|&v| self.ty(v).clone()).collect();
        signature(&op, callee, &types)?;
        self.op_all(op, operands)
    }

    /// Repeats a function of the module `count` times: it takes the carried values, slice i of the
    /// outermost axis of every sliced one in iteration i, and the fixed ones, and gives back the
    /// carried ones. The results are those of the last iteration.
    ///
    /// ```
    /// use ipucc_chip::ScalarType::F32;
    /// use ipucc_tensor::{BinaryOp, Builder, TensorType};
    ///
    /// let mut layer = Builder::new("layer");
    /// let h = layer.param("h", TensorType::new(F32, [8]));
    /// let w = layer.param("w", TensorType::new(F32, [8]));
    /// let next = layer.binary(BinaryOp::Mul, h, w)?;
    /// layer.result("next", next);
    /// let layer = layer.finish();
    ///
    /// let mut f = Builder::new("main");
    /// let x = f.param("x", TensorType::new(F32, [8]));
    /// let weights = f.param("weights", TensorType::new(F32, [12, 8]));
    /// let y = f.repeat(&layer, 12, &[x], &[weights], &[])?;
    /// assert_eq!(f.ty(y[0]).to_string(), "tensor<8xf32>");
    /// assert!(f.repeat(&layer, 6, &[x], &[weights], &[]).is_err());
    /// # Ok::<(), ipucc_tensor::TypeError>(())
    /// ```
    ///
    /// # Errors
    /// The operands are not what the function takes.
    pub fn repeat(
        &mut self,
        body: &Function,
        count: u32,
        carried: &[Value],
        sliced: &[Value],
        fixed: &[Value],
    ) -> Result<Vec<Value>, TypeError> {
        let op = Op::Repeat {
            function: body.name.clone(),
            count,
            carried: carried.len() as u32,
            sliced: sliced.len() as u32,
        };
        let operands = [carried, sliced, fixed].concat();
        let types: Vec<TensorType> = operands.iter().map(|&v| self.ty(v).clone()).collect();
        signature(&op, body, &types)?;
        self.op_all(op, &operands)
    }

    fn push(&mut self, op: Op, operands: &[Value], ty: TensorType) -> Value {
        self.push_all(op, operands, vec![ty])[0]
    }

    fn push_all(&mut self, op: Op, operands: &[Value], types: Vec<TensorType>) -> Vec<Value> {
        let inst = self.function.insts.next_key();
        let mut results = Vec::with_capacity(types.len());
        for (index, ty) in types.into_iter().enumerate() {
            results.push(self.function.values.push(ValueData {
                ty,
                def: Def::Result(inst, index as u32),
                name: None,
            }));
        }
        self.function.insts.push(InstData {
            op,
            operands: operands.into(),
            results: SmallVec::from_slice(&results),
            span: self.span,
            origin: self.origin.clone(),
        });
        self.function.body.push(inst);
        results
    }

    /// Names a value for people.
    pub fn name(&mut self, value: Value, name: impl Into<String>) {
        self.function.values[value].name = Some(name.into());
    }

    /// Adds a result whose host buffer has the device type's counterpart.
    pub fn result(&mut self, name: impl Into<String>, value: Value) {
        let host = self.ty(value).element.host();
        self.result_with_host(name, value, host);
    }

    /// Adds a result with a host type of its own.
    pub fn result_with_host(&mut self, name: impl Into<String>, value: Value, host: HostType) {
        self.function.results.push(Port {
            name: name.into(),
            value,
            host,
        });
    }

    /// The finished function.
    pub fn finish(self) -> Function {
        self.function
    }

    /// Elementwise operation of one operand.
    ///
    /// # Errors
    /// As [`Builder::op`]; so for all methods below.
    pub fn unary(&mut self, op: UnaryOp, x: Value) -> Result<Value, TypeError> {
        self.op(Op::Unary(op), &[x])
    }

    /// Elementwise operation of two operands, each broadcast as NumPy does.
    ///
    /// # Errors
    /// The shapes cannot be broadcast, or the element types differ.
    pub fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Value, TypeError> {
        let (x, y) = self.broadcast_pair(op.name(), x, y)?;
        self.op(Op::Binary(op), &[x, y])
    }

    /// Comparison of two operands, each broadcast as NumPy does.
    ///
    /// # Errors
    /// As [`Builder::binary`].
    pub fn compare(&mut self, op: CompareOp, x: Value, y: Value) -> Result<Value, TypeError> {
        let (x, y) = self.broadcast_pair(op.name(), x, y)?;
        self.op(Op::Compare(op), &[x, y])
    }

    fn broadcast_pair(
        &mut self,
        op: &'static str,
        x: Value,
        y: Value,
    ) -> Result<(Value, Value), TypeError> {
        let (a, b) = (self.ty(x).shape.clone(), self.ty(y).shape.clone());
        let rank = a.len().max(b.len());
        let extent = |shape: &Shape, axis: usize| {
            (axis + shape.len())
                .checked_sub(rank)
                .map_or(1, |at| shape[at])
        };
        let mut shape = Shape::new();
        for axis in 0..rank {
            let (p, q) = (extent(&a, axis), extent(&b, axis));
            if p != q && p != 1 && q != 1 {
                let message = format!(
                    "{} and {} cannot be broadcast together",
                    self.ty(x),
                    self.ty(y)
                );
                return Err(TypeError { op, message });
            }
            shape.push(if p == 1 { q } else { p });
        }
        Ok((self.broadcast_to(x, &shape)?, self.broadcast_to(y, &shape)?))
    }

    /// NumPy broadcast to a shape: trailing axes meet.
    ///
    /// # Errors
    /// An extent is neither 1 nor equal.
    pub fn broadcast_to(&mut self, x: Value, shape: &[u32]) -> Result<Value, TypeError> {
        let ty = self.ty(x);
        if ty.shape[..] == *shape {
            return Ok(x);
        }
        let Some(lead) = shape.len().checked_sub(ty.rank()) else {
            let message = format!("{ty} has more axes than the shape");
            return Err(TypeError {
                op: "broadcast",
                message,
            });
        };
        let axes = (lead..shape.len()).map(|axis| axis as u8).collect();
        self.op(
            Op::Broadcast {
                shape: shape.into(),
                axes,
            },
            &[x],
        )
    }

    /// `x @ y` as NumPy's matmul for ranks of at least 2, batch axes broadcast, summed in f32.
    ///
    /// # Errors
    /// Ranks below 2, or extents that do not fit.
    pub fn matmul(&mut self, x: Value, y: Value) -> Result<Value, TypeError> {
        let (a, b) = (self.ty(x).clone(), self.ty(y).clone());
        if a.rank() < 2 || b.rank() < 2 {
            let message = format!("{a} and {b}: both operands need at least two axes");
            return Err(TypeError { op: "dot", message });
        }
        let (ra, rb) = (a.rank(), b.rank());
        if rb == 2 {
            return self.dot(x, y, &[], &[], &[ra as u8 - 1], &[0]);
        }
        // Batch axes meet from the right; missing or unit ones are broadcast.
        let rank = ra.max(rb);
        let batch = rank - 2;
        let extent = |ty: &TensorType, axis: usize| {
            (axis + ty.rank())
                .checked_sub(rank)
                .map_or(1, |at| ty.shape[at])
        };
        let shape: Shape = (0..batch)
            .map(|axis| extent(&a, axis).max(extent(&b, axis)))
            .collect();
        let full = |ty: &TensorType| {
            let mut full = shape.clone();
            full.extend_from_slice(&ty.shape[ty.rank() - 2..]);
            full
        };
        let (fa, fb) = (full(&a), full(&b));
        let (x, y) = (self.broadcast_to(x, &fa)?, self.broadcast_to(y, &fb)?);
        let axes: Axes = (0..batch as u8).collect();
        self.dot(x, y, &axes, &axes, &[rank as u8 - 1], &[rank as u8 - 2])
    }

    /// General product, summed in f32 (integers in i32), result of the operands' element type
    /// (i32 for narrower integers).
    ///
    /// # Errors
    /// Axes or extents that do not fit.
    pub fn dot(
        &mut self,
        x: Value,
        y: Value,
        lhs_batch: &[u8],
        rhs_batch: &[u8],
        lhs_contract: &[u8],
        rhs_contract: &[u8],
    ) -> Result<Value, TypeError> {
        let element = self.ty(x).element;
        let (accumulate, result) = match element {
            ScalarType::F8E4M3 | ScalarType::F8E5M2 => (ScalarType::F32, ScalarType::F16),
            float if float.is_float() => (ScalarType::F32, float),
            ScalarType::U32 => (ScalarType::U32, ScalarType::U32),
            _ => (ScalarType::I32, ScalarType::I32),
        };
        let op = Op::Dot {
            lhs_batch: lhs_batch.into(),
            rhs_batch: rhs_batch.into(),
            lhs_contract: lhs_contract.into(),
            rhs_contract: rhs_contract.into(),
            accumulate,
            result,
        };
        self.op(op, &[x, y])
    }

    /// Folds axes.
    ///
    /// # Errors
    /// An axis does not exist.
    pub fn reduce(
        &mut self,
        kind: ReduceKind,
        x: Value,
        axes: &[u8],
        keep: bool,
    ) -> Result<Value, TypeError> {
        self.op(
            Op::Reduce {
                kind,
                axes: axes.into(),
                keep,
            },
            &[x],
        )
    }

    /// A rank-0 constant of a float type.
    ///
    /// # Errors
    /// The type is not f32 or f16.
    pub fn scalar(&mut self, value: f32, element: ScalarType) -> Result<Value, TypeError> {
        let data = match element {
            ScalarType::F32 => value.to_le_bytes().to_vec(),
            ScalarType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
            other => {
                let message = format!("no {other} constant from a float");
                return Err(TypeError {
                    op: "constant",
                    message,
                });
            }
        };
        self.op(
            Op::Constant {
                element,
                shape: Shape::new(),
                data,
            },
            &[],
        )
    }
}
