//! The engine as programs that embed it use it.

mod stateful;
