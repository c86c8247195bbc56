//! Special and random bit patterns.

use millstream_base::Lane;

const F32: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    f32::EPSILON,
    8_388_607.5,
    16_777_217.0,
];
const INTEGERS: [i64; 16] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    -8,
    31,
    32,
    64,
    255,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
    1 << 52,
];

/// Special values, then random bits.
pub(crate) fn bits(lane: Lane) -> Vec<u64> {
    let mut bits: Vec<u64> = match lane {
        Lane::Bool => return vec![0, 1],
        Lane::I32 => INTEGERS.map(|x| u64::from(x as i32 as u32)).to_vec(),
        Lane::I64 => INTEGERS.map(|x| x as u64).to_vec(),
        Lane::F32 => {
            let mut all = F32.map(|x| u64::from(x.to_bits())).to_vec();
            // Other NaNs: negative, with payload, signaling.
            all.extend([0xffc0_0000, 0x7fc0_0001, 0x7f80_0001]);
            all
        }
        Lane::F64 => {
            let mut all = F32.map(|x| f64::from(x).to_bits()).to_vec();
            all.extend([f64::MAX.to_bits(), 1, 1 << 63 | 1, f64::EPSILON.to_bits()]);
            all.extend([0xfff8_0000_0000_0000, 0x7ff8_0000_0000_0001, 0x7ff0_0000_0000_0001]);
            all
        }
    };
    // A linear congruential generator: varied bits, the same in every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..3000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let random = state ^ state >> 31;
        bits.push(if lane.size() == 4 { random >> 32 } else { random });
    }
    bits
}
