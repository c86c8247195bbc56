//! The color of a glowing body.
//!
//! Blender approximates the color by curves, one for each range of temperatures. The coefficients
//! here were found by fitting curves of the same kind to Blender's results; they agree to 1e-6.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

pub(super) fn register(registry: &mut Registry) {
    registry.register(blackbody());
}

/// The curves from this temperature on: red and green are a / t + b t + c, blue is a t^3 + b t^2 +
/// c t + d.
struct Piece {
    from: f32,
    red: [f32; 3],
    green: [f32; 3],
    blue: [f32; 4],
}

#[expect(clippy::excessive_precision, reason = "results of the fit")]
const PIECES: [Piece; 7] = [
    Piece {
        from: 800.0,
        red: [1_619.185_47, -0.002_050_116_4, 5.029_970_44],
        green: [0.0, 0.001_129_81, -1.089_403_7],
        blue: [0.0, 0.0, 0.0, 0.0],
    },
    Piece {
        from: 965.0,
        red: [2_488.458_44, -0.001_113_305_47, 3.226_207_96],
        green: [-755.994_596, 0.000_316_729_782, 0.478_306_781],
        blue: [0.0, 0.0, 0.0, 0.0],
    },
    Piece {
        from: 1_167.0,
        red: [3_341.435_76, -0.000_486_549_176, 1.764_862_05],
        green: [-1_023.639_45, 0.000_120_223_602, 0.936_661_898],
        blue: [0.0, 0.0, 0.0, 0.0],
    },
    Piece {
        from: 1_449.0,
        red: [4_094.616_91, -0.000_127_446_746, 0.725_732_211],
        green: [-1_265.713_3, 4.873_351_22e-6, 1.270_545_2],
        blue: [0.0, 0.0, 0.000_197_85, -0.376_011_7],
    },
    Piece {
        from: 1_902.0,
        red: [4_670.280_62, 2.912_581_09e-5, 0.126_703_359],
        green: [-1_425.293_4, -4.011_504_88e-5, 1.439_727_82],
        blue: [-1.970_759_51e-11, 1.753_594_86e-7, -0.000_250_543_131, -0.022_278_111_2],
    },
    Piece {
        from: 3_315.0,
        red: [4_595.091_39, 2.874_954_47e-5, 0.150_345_212],
        green: [-1_175.548_26, -2.163_780_67e-5, 1.304_080_27],
        blue: [-1.619_959_35e-13, -1.642_162_71e-8, 0.000_386_216_388, -0.738_077_567],
    },
    Piece {
        from: 6_365.0,
        red: [3_787.174_58, 9.359_078_04e-6, 0.399_075_862],
        green: [-500.799_491, -4.598_319_4e-6, 1.090_987_67],
        blue: [6.726_500_93e-13, -2.730_787_43e-8, 0.000_424_098_194, -0.752_335_48],
    },
];

/// The colors below the first piece, and from 12000 on.
const ENDS: [[f32; 3]; 2] = [[5.413_294_5, 0.0, 0.0], [0.826_295_5, 0.994_508, 1.566_307_7]];

fn blackbody() -> NodeDef {
    NodeDef::new("blender.blackbody", "The color of a glowing body, as Blender's Blackbody node")
        .details(
            "Linear light with BT.709 primaries; constant below 800 and from 12000 kelvins on.",
        )
        .source("fitted to the results of Blender 5.2")
        .input_or("temperature", Type::F32, 6_500.0, "in kelvins")
        .output("value", Type::COLOR, "channels at least 0, opaque")
        .form(|_, inputs| {
            let t = inputs[0][0];
            let mut color: Vec<Val<'_>> = (0..3).map(|i| t.like(ENDS[0][i])).collect();
            for piece in &PIECES {
                let falling = |c: &[f32; 3]| (1.0 / t) * c[0] + t * c[1] + c[2];
                let cubic = |c: &[f32; 4]| ((t * c[0] + c[1]) * t + c[2]) * t + c[3];
                let here = [falling(&piece.red), falling(&piece.green), cubic(&piece.blue)];
                let reached = !t.lt(piece.from);
                color =
                    color.iter().zip(here).map(|(old, new)| reached.select(new, *old)).collect();
            }
            let beyond = t.ge(12_000.0);
            let mut result: Vec<Val<'_>> = (0..3)
                .map(|i| {
                    let channel = beyond.select(ENDS[1][i], color[i]);
                    channel.lt(0.0).select(0.0, channel)
                })
                .collect();
            result.push(t.like(1.0));
            vec![result]
        })
}

#[cfg(test)]
mod tests {
    use crate::nodes::testing::form;

    #[test]
    fn colors_equal_blenders() {
        // Temperatures, and the results of Blender 5.2.3.
        let known: &[(f32, [f32; 3])] = &[
            (f32::NEG_INFINITY, [5.413_294_3, 0.0, 0.0]),
            (799.0, [5.413_294_3, 0.0, 0.0]),
            (964.9, [4.729_899_4, 0.000_749_97, 0.0]),
            (1_580.0, [3.115_896, 0.477_160_7, 0.0]),
            (2_380.0, [2.158_325_7, 0.745_391_2, 0.109_052_14]),
            (3_980.0, [1.419_313_9, 0.922_597_9, 0.528_725_5]),
            (6_380.0, [1.052_387_8, 0.983_155_2, 1.016_543_6]),
            (11_180.0, [0.842_455_86, 0.994_784_24, 1.515_777]),
            (20_000.0, [0.826_295_5, 0.994_508, 1.566_307_7]),
        ];
        for (temperature, color) in known {
            let form = form("blender.blackbody", &serde_json::json!({}));
            let mut result = [0; 4];
            form.run_scalar(&[u64::from(temperature.to_bits())], &mut result, &mut Vec::new());
            for (ours, theirs) in result.iter().zip(color) {
                let ours = f32::from_bits(*ours as u32);
                assert!(
                    (ours - theirs).abs() < 2e-6 * theirs.max(1.0),
                    "{temperature}: {ours} {theirs}"
                );
            }
        }
    }
}
