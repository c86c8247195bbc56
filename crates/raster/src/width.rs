//! SIMD widths: code compiled for each, chosen when the program runs.
//!
//! `fearless_simd` has the detection: a value of its token types proves that the machine has the
//! instructions. Results do not depend on the width, because vectors lie across results: each is a
//! sum in one order, of products that are rounded.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use fearless_simd::{Avx2, Avx512};
use fearless_simd::{Level, Simd, dispatch};

/// The instructions that loops over pixels use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Width(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// What the program is compiled for: on x86-64 SSE2, on 64-bit ARM NEON.
    Baseline,
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Avx2(Avx2),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Avx512(Avx512),
}

/// Work that is written over SIMD vectors of whatever kind.
pub(crate) trait OverVectors {
    /// Does the work; inlined into code compiled for the instructions of `simd`.
    fn run<S: Simd>(self, simd: S);
}

impl Width {
    /// What every machine has that can run the program.
    pub(crate) const BASELINE: Self = Self(Kind::Baseline);

    /// The widest that this machine has.
    pub(crate) fn widest() -> Self {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            let level = Level::new();
            let avx512 = level.as_avx512().map(Kind::Avx512);
            let kind = avx512.or(level.as_avx2().map(Kind::Avx2));
            Self(kind.unwrap_or(Kind::Baseline))
        }
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        Self::BASELINE
    }

    /// Does the work with vectors of this width.
    #[inline(always)]
    pub(crate) fn run(self, work: impl OverVectors) {
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
