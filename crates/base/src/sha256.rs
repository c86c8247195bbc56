//! SHA-256, by which documents lock the documents that they use.
//!
//! Source: FIPS 180-4, sections 4.1.2, 5.1.1 and 6.2.2.

use std::fmt::Write as _;

/// The fractional parts of the cube roots of the first 64 primes.
const ROUND: [u32; 64] = fractions(3);

/// The fractional parts of the square roots of the first 8 primes.
const START: [u32; 8] = fractions(2);

/// The first 32 bits of the fractional parts of the n-th roots of the first primes.
const fn fractions<const N: usize>(n: u32) -> [u32; N] {
    let mut found = [0; N];
    let (mut i, mut candidate) = (0, 2_u128);
    while i < N {
        let mut divisor = 2;
        while divisor * divisor <= candidate && !candidate.is_multiple_of(divisor) {
            divisor += 1;
        }
        if divisor * divisor > candidate {
            // The root times 2^32, bit by bit; the primes are below 512, so the root is below 2^5.
            let (mut root, mut bit) = (0_u128, 1_u128 << 37);
            while bit > 0 {
                let larger = root | bit;
                if larger.pow(n) <= candidate << (32 * n) {
                    root = larger;
                }
                bit >>= 1;
            }
            found[i] = root as u32;
            i += 1;
        }
        candidate += 1;
    }
    found
}

/// The digest as 64 hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64), 0);
    let n_bits = (bytes.len() as u64).wrapping_mul(8);
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&n_bits.to_be_bytes());
    let mut state = START;
    for block in padded.as_chunks::<64>().0 {
        add_block(&mut state, block);
    }
    let mut digits = String::with_capacity(64);
    for word in state {
        write!(digits, "{word:08x}").expect("strings take all text");
    }
    digits
}

fn add_block(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut schedule = [0_u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for t in 16..64 {
        let (a, b) = (schedule[t - 15], schedule[t - 2]);
        let small_0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let small_1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        let sum = schedule[t - 16].wrapping_add(small_0).wrapping_add(schedule[t - 7]);
        schedule[t] = sum.wrapping_add(small_1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in schedule.iter().zip(ROUND) {
        let large_1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(large_1).wrapping_add(choice);
        let first = first.wrapping_add(constant).wrapping_add(*word);
        let large_0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = large_0.wrapping_add(majority);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of FIPS 180-4, and lengths around the end of a block.
    #[test]
    fn known_digests() {
        let cases: [(&[u8], &str); 5] = [
            (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (&[b'a'; 55], "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (&[b'a'; 64], "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ];
        for (bytes, digest) in cases {
            assert_eq!(hex(bytes), digest, "{} bytes", bytes.len());
        }
    }
}
