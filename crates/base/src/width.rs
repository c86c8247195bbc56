//! SIMD widths: code compiled for each, selected at run time.
//!
//! `fearless_simd` has the detection and the one piece of unsafe code needed: a value of its token
//! types proves that the machine has the instructions.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use fearless_simd::{Avx2, Avx512};
use fearless_simd::{Level, Simd, dispatch};

/// The instructions used by loops over columns and pixels. Results do not depend on them, because
/// vectors run across results.
#[derive(Clone, Copy, Debug)]
pub struct Width(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// What the program is compiled for: SSE2 on x86-64, NEON on 64-bit ARM.
    Baseline,
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Avx2(Avx2),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Avx512(Avx512),
}

/// Work written for SIMD vectors of any kind.
pub trait OverVectors {
    /// Does the work; inlined into code compiled for the instructions of `simd`.
    fn run<S: Simd>(self, simd: S);
}

impl Width {
    /// What every machine that can run the program has.
    pub const BASELINE: Self = Self(Kind::Baseline);

    /// The widths that this machine has, narrowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            let level = Level::new();
            let wide = [level.as_avx2().map(Kind::Avx2), level.as_avx512().map(Kind::Avx512)];
            std::iter::once(Self::BASELINE).chain(wide.into_iter().flatten().map(Self))
        }
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        std::iter::once(Self::BASELINE)
    }

    /// The widest that this machine has.
    pub fn widest() -> Self {
        Self::available().last().unwrap_or(Self::BASELINE)
    }

    /// The name for display.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Baseline => "baseline",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx2(_) => "AVX2",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx512(_) => "AVX-512",
        }
    }

    /// Bytes of a vector.
    pub fn vector_bytes(self) -> usize {
        match self.0 {
            Kind::Baseline => 16,
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx2(_) => 32,
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx512(_) => 64,
        }
    }

    /// Whether rounding to an integer is an instruction.
    #[inline]
    pub fn rounds(self) -> bool {
        match self.0 {
            Kind::Baseline => cfg!(target_arch = "aarch64"),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx2(_) | Kind::Avx512(_) => true,
        }
    }

    /// Calls `f`, compiled for this width; whatever `f` calls is compiled so only if inlined.
    #[inline(always)]
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        match self.0 {
            Kind::Baseline => f(),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx2(token) => token.vectorize(f),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx512(token) => token.vectorize(f),
        }
    }
}

impl Width {
    /// Does the work with vectors of this width.
    #[inline(always)]
    pub fn run_vectors(self, work: impl OverVectors) {
        match self.0 {
            Kind::Baseline => dispatch!(Level::baseline(), simd => work.run(simd)),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx2(token) => token.vectorize(
                #[inline(always)]
                || work.run(token),
            ),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Kind::Avx512(token) => token.vectorize(
                #[inline(always)]
                || work.run(token),
            ),
        }
    }
}

impl Default for Width {
    fn default() -> Self {
        Self::widest()
    }
}
