//! Values that many factories use: a road, a map; and where they came from.

use std::any::{Any, TypeId};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chaconne_sim_core::fingerprint::Fingerprint;

use super::SchemaOf;
use crate::error::Mistake;
use crate::params::Params;

/// The values of a run's shared fields, at most one of each type. Copies share them.
#[derive(Clone, Default)]
pub struct Shared(Vec<Value>);

#[derive(Clone)]
struct Value {
    type_id: TypeId,
    value: Arc<dyn Any + Send + Sync>,
    /// None when it was made in code.
    source: Option<Arc<Source>>,
}

/// Where a shared value came from: what has to be known to load it once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) field: String,
    /// What stands in the field, as JSON.
    pub(super) params: String,
    /// The folder that its relative paths start from; absolute.
    pub(super) base: PathBuf,
    /// The files that were read for it, absolute, and the hash of what was in each.
    pub(super) files: Vec<(PathBuf, Fingerprint)>,
}

impl Shared {
    /// The value of a type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let found = self.0.iter().find(|value| value.type_id == TypeId::of::<T>())?;
        found.value.clone().downcast().ok()
    }

    /// The same values and one more, which replaces another of its type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: impl Into<Arc<T>>) -> Self {
        self.insert(TypeId::of::<T>(), value.into(), None);
        self
    }

    pub(super) fn insert(&mut self, type_id: TypeId, value: Arc<dyn Any + Send + Sync>, source: Option<Source>) {
        self.0.retain(|other| other.type_id != type_id);
        self.0.push(Value { type_id, value, source: source.map(Arc::new) });
    }

    /// Where those values came from that were not made in code.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.0.iter().filter_map(|value| value.source.as_deref())
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shared({} values)", self.0.len())
    }
}

/// What the loader of a shared field returns.
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    /// The value.
    pub value: Arc<T>,
    /// The files that were read for it, which are inputs of the run.
    pub files: Vec<PathBuf>,
}

impl<T> Loaded<T> {
    /// A value for which no file was read.
    pub fn new(value: impl Into<Arc<T>>) -> Self {
        Self { value: value.into(), files: Vec::new() }
    }

    /// A value that was read from a file.
    pub fn from_file(value: impl Into<Arc<T>>, file: impl Into<PathBuf>) -> Self {
        Self { value: value.into(), files: vec![file.into()] }
    }
}

/// A registered shared field.
#[derive(Clone)]
pub(super) struct Share {
    pub(super) about: String,
    pub(super) at: &'static Location<'static>,
    pub(super) type_id: TypeId,
    pub(super) load: Load,
    pub(super) schema: SchemaOf,
}

pub(super) type Load = Arc<dyn Fn(&Params<'_>, &Path) -> Result<SharedValue, Mistake> + Send + Sync>;

/// [`Loaded`] without its type.
pub(super) struct SharedValue {
    pub(super) value: Arc<dyn Any + Send + Sync>,
    pub(super) files: Vec<PathBuf>,
}
