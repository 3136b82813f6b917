//! Spans for profiles: nothing at all without the feature `profile`, and next to nothing while nobody subscribes.

/// Opens a span that lasts until the end of the block.
#[cfg(feature = "profile")]
macro_rules! span {
    ($($what:tt)*) => {
        let _span = tracing::info_span!(target: "chaconne", $($what)*).entered();
    };
}

/// Opens a span that lasts until the end of the block.
#[cfg(not(feature = "profile"))]
macro_rules! span {
    ($($what:tt)*) => {};
}

pub(crate) use span;
