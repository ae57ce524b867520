//! ONNX import: a model file becomes a tensor module with static shapes.
//!
//! Values of the graph are either *known* (initializers, constants and what integer arithmetic
//! makes of them: shapes, axes, indices) or values of the function under construction. A known
//! tensor becomes a literal or a weight only when a device operation uses it. Every node that
//! cannot be imported is reported, all in one go.

mod activation;
mod constant;
mod dense;
mod fold;
mod helpers;
mod ops;
pub mod proto;
mod shapes;
mod window;

pub use constant::Constant;
pub use ops::SUPPORTED;

use indexmap::IndexMap;
use ipucc_chip::HostType;
use ipucc_tensor::{Builder, Module, Op, Span, TensorType, Value, Weight, WeightSource};
use prost::Message;
use proto::{DataType, Dimension, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use std::path::Path;
use thiserror::Error;

/// One thing about a model that cannot be imported.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{place}: {message}")]
pub struct ImportError {
    /// Node, input or output, by name.
    pub place: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl ImportError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> ImportError {
        ImportError {
            place: place.into(),
            message: message.into(),
        }
    }
}

/// Oldest and newest operator sets whose semantics are implemented.
const OPSETS: std::ops::RangeInclusive<i64> = 9..=22;

/// Imports a model. `dims` gives symbolic dimensions a value (`--dim NAME=N`).
///
/// # Errors
/// Everything that cannot be imported.
pub fn import(
    bytes: &[u8],
    folder: Option<&Path>,
    dims: &IndexMap<String, u32>,
) -> Result<Module, Vec<ImportError>> {
    let whole = |message: String| vec![ImportError::new("model", message)];
    let model = ModelProto::decode(bytes)
        .map_err(|error| whole(format!("not an ONNX file ({error}); hint: is it complete?")))?;
    let Some(graph) = &model.graph else {
        return Err(whole(
            "the file holds no graph; hint: is it an ONNX model?".into(),
        ));
    };
    let version = model
        .opset_import
        .iter()
        .find(|set| set.domain.is_empty() || set.domain == "ai.onnx")
        .map_or(1, |set| set.version);
    if !OPSETS.contains(&version) {
        return Err(whole(format!(
            "operator set {version} is not supported; hint: convert the model to one of {} to {}",
            OPSETS.start(),
            OPSETS.end()
        )));
    }
    Importer::new(folder, dims, version).run(graph)
}

/// What the importer knows about a name of the graph.
#[derive(Clone)]
enum Known {
    /// Data known now.
    Constant(Constant),
    /// A value of the function.
    Value(Value),
    /// The result of a node that failed; using it is no second error.
    Failed,
}

struct Importer<'a> {
    builder: Builder,
    module: Module,
    names: IndexMap<String, Known>,
    /// Element types of the graph's 64-bit values, so that outputs keep them.
    wide: IndexMap<Value, DataType>,
    errors: Vec<ImportError>,
    folder: Option<&'a Path>,
    dims: &'a IndexMap<String, u32>,
    version: i64,
}

impl<'a> Importer<'a> {
    fn new(
        folder: Option<&'a Path>,
        dims: &'a IndexMap<String, u32>,
        version: i64,
    ) -> Importer<'a> {
        Importer {
            builder: Builder::new("main"),
            module: Module::default(),
            names: IndexMap::new(),
            wide: IndexMap::new(),
            errors: Vec::new(),
            folder,
            dims,
            version,
        }
    }

    fn run(mut self, graph: &GraphProto) -> Result<Module, Vec<ImportError>> {
        for tensor in &graph.initializer {
            let known = match Constant::read(tensor, self.folder) {
                Ok(constant) => Known::Constant(constant),
                Err(reason) => {
                    let place = format!("initializer `{}`", tensor.name);
                    self.errors.push(ImportError::new(place, reason));
                    Known::Failed
                }
            };
            self.names.insert(tensor.name.clone(), known);
        }
        for input in &graph.input {
            if !self.names.contains_key(&input.name) {
                let known = match self.input(input) {
                    Ok(value) => Known::Value(value),
                    Err(message) => {
                        let place = format!("input `{}`", input.name);
                        self.errors.push(ImportError::new(place, message));
                        Known::Failed
                    }
                };
                self.names.insert(input.name.clone(), known);
            }
        }
        for (index, node) in graph.node.iter().enumerate() {
            self.node(index, node);
        }
        for output in &graph.output {
            self.output(output);
        }
        if graph.output.is_empty() {
            self.errors
                .push(ImportError::new("graph", "it has no outputs"));
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let function = self.builder.finish();
        self.module
            .functions
            .insert(function.name.clone(), function);
        Ok(self.module)
    }

    fn input(&mut self, input: &ValueInfoProto) -> Result<Value, String> {
        let tensor = input
            .r#type
            .as_ref()
            .and_then(|ty| ty.tensor_type.as_ref())
            .ok_or("is not a tensor")?;
        let kind = DataType::of(tensor.elem_type)
            .ok_or_else(|| format!("element type {} is not supported", tensor.elem_type))?;
        let dimensions = tensor
            .shape
            .as_ref()
            .map_or(&[][..], |shape| &shape.dim[..]);
        let mut shape = Vec::new();
        for (axis, dimension) in dimensions.iter().enumerate() {
            let extent = match &dimension.value {
                Some(Dimension::Value(extent)) if *extent >= 0 => u32::try_from(*extent)
                    .map_err(|_| format!("axis {axis} has extent {extent}"))?,
                Some(Dimension::Name(name)) => *self.dims.get(name).ok_or_else(|| {
                    format!(
                        "axis {axis} has the dynamic extent `{name}`, shapes are static here; \
                         hint: give it a value with --dim {name}=N"
                    )
                })?,
                _ => {
                    return Err(format!(
                        "axis {axis} has no extent, shapes are static here; \
                         hint: export the model with fixed shapes"
                    ));
                }
            };
            shape.push(extent);
        }
        let value = self.builder.param_with_host(
            input.name.clone(),
            TensorType::new(kind.device(), shape),
            host_type(kind),
        );
        self.note_width(value, kind);
        Ok(value)
    }

    /// Remembers that the model sees this device value as a 64-bit type.
    fn note_width(&mut self, value: Value, kind: DataType) {
        if matches!(kind, DataType::Int64 | DataType::Double) {
            self.wide.insert(value, kind);
        }
    }

    fn output(&mut self, output: &ValueInfoProto) {
        let place = format!("output `{}`", output.name);
        let value = match self.names.get(&output.name).cloned() {
            None => {
                self.errors
                    .push(ImportError::new(place, "no node makes it"));
                return;
            }
            Some(Known::Failed) => return,
            Some(Known::Value(value)) => value,
            Some(Known::Constant(constant)) => match self.materialize(&output.name, &constant) {
                Ok(value) => value,
                Err(message) => {
                    self.errors.push(ImportError::new(place, message));
                    return;
                }
            },
        };
        let declared = output
            .r#type
            .as_ref()
            .and_then(|ty| ty.tensor_type.as_ref())
            .and_then(|tensor| DataType::of(tensor.elem_type))
            .or(self.wide.get(&value).copied());
        let element = self.builder.ty(value).element;
        let host = match declared {
            Some(kind) if kind.device() == element => host_type(kind),
            _ => element.host(),
        };
        self.builder
            .result_with_host(output.name.clone(), value, host);
    }

    fn node(&mut self, index: usize, node: &NodeProto) {
        let name = if node.name.is_empty() {
            format!("{} #{index}", node.op_type)
        } else {
            node.name.clone()
        };
        self.builder.at(Span::default(), Some(name.clone()));
        let failed = |known: Option<&Known>| matches!(known, Some(Known::Failed));
        let poisoned = node.input.iter().any(|input| failed(self.names.get(input)));
        let standard =
            node.domain.is_empty() || node.domain == "ai.onnx" || node.domain == "com.microsoft";
        let results = if !standard || !ops::is_supported(&node.op_type) {
            Err(Some(format!(
                "operator {}{} is not supported",
                domain_prefix(node),
                node.op_type
            )))
        } else if poisoned {
            Err(None)
        } else {
            self.import_node(node).map_err(Some)
        };
        match results {
            Ok(results) => {
                for (output, known) in node.output.iter().zip(results) {
                    if !output.is_empty() {
                        self.names.insert(output.clone(), known);
                    }
                }
            }
            Err(message) => {
                if let Some(message) = message {
                    let place = format!("node `{name}` ({})", node.op_type);
                    self.errors.push(ImportError::new(place, message));
                }
                for output in &node.output {
                    self.names.insert(output.clone(), Known::Failed);
                }
            }
        }
    }

    /// A constant as a value of the function: a literal if it is small, else a weight.
    fn materialize(&mut self, name: &str, constant: &Constant) -> Result<Value, String> {
        let data = constant.to_device()?;
        let element = constant.kind.device();
        let size = element.bytes() as usize;
        let ty = TensorType::new(element, constant.shape.iter().copied());
        let splat = data.len() > size && data.chunks_exact(size).all(|c| c == &data[..size]);
        let value = if ty.elements() <= 64 || splat {
            let data = if splat { data[..size].to_vec() } else { data };
            let op = Op::Constant {
                element,
                shape: ty.shape.clone(),
                data,
            };
            self.builder
                .op(op, &[])
                .map_err(|error| error.to_string())?
        } else {
            let mut weight = if name.is_empty() {
                "constant".to_owned()
            } else {
                name.to_owned()
            };
            while self.module.weights.get(&weight).is_some_and(|old| {
                old.ty != ty || old.source != WeightSource::Dense(data.as_slice().into())
            }) {
                weight.push('_');
            }
            let source = WeightSource::Dense(data.into());
            self.module.weights.insert(
                weight.clone(),
                Weight {
                    ty: ty.clone(),
                    source,
                },
            );
            self.builder.weight(weight, ty)
        };
        self.note_width(value, constant.kind);
        Ok(value)
    }
}

fn host_type(kind: DataType) -> HostType {
    match kind {
        DataType::Int64 => HostType::I64,
        DataType::Double => HostType::F64,
        DataType::Bool => HostType::Bool,
        other => HostType::Device(other.device()),
    }
}

fn domain_prefix(node: &NodeProto) -> String {
    if node.domain.is_empty() {
        String::new()
    } else {
        format!("{}.", node.domain)
    }
}
