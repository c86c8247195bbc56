//! Shapes, byte and memory orders, and headers that claim more than the file contains.

use millstream_base::{Column, Type, Value};

use super::header;
use crate::{ColumnSpec, Format, IoError, ReadOptions, TableWriter, WriteOptions, read_bytes};

/// A file like those of `numpy.save`.
fn npy(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let length = (10 + dictionary.len() + 1).next_multiple_of(64) - 10;
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.resize(10 + length - 1, b' ');
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

fn read_as(bytes: &[u8], ty: Option<Type>) -> Result<Column, IoError> {
    let mut options = ReadOptions::default();
    options.columns.insert("value".into(), ty);
    Ok(read_bytes("t.npy", bytes, Format::NPY, &options)?.column("value")?.clone())
}

fn text(bytes: &[u8], ty: Option<Type>) -> String {
    format!("{:?}", read_as(bytes, ty).expect("reads"))
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn arrays_become_scalars_vectors_and_lists() {
    let data = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let of_shape = |shape: &str| {
        npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"), &data)
    };
    assert_eq!(read_as(&of_shape("(6,)"), None).expect("reads").ty(), Type::F32);
    assert_eq!(text(&of_shape("(2, 3)"), None), r#"vec3["[1.0, 2.0, 3.0]", "[4.0, 5.0, 6.0]"]"#);
    assert_eq!(text(&of_shape("(2, 3)"), Some(Type::COLOR)), {
        r#"color["[1.0, 2.0, 3.0, 1.0]", "[4.0, 5.0, 6.0, 1.0]"]"#
    });
    assert_eq!(text(&of_shape("(1, 6)"), None), r#"list<f32>["[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"]"#);
    assert_eq!(text(&of_shape("(3, 2)"), Type::F64.list()), {
        r#"list<f64>["[1.0, 2.0]", "[3.0, 4.0]", "[5.0, 6.0]"]"#
    });
}

#[test]
fn both_byte_orders_and_both_memory_orders_are_read() {
    let big: Vec<u8> = [1_i16, -2].iter().flat_map(|x| x.to_be_bytes()).collect();
    let bytes = npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", &big);
    assert_eq!(text(&bytes, None), r#"i32["1", "-2"]"#);
    assert_eq!(text(&bytes, Some(Type::F32)), r#"f32["1.0", "-2.0"]"#);
    let data = floats(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let bytes = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", &data);
    assert_eq!(text(&bytes, None), r#"vec3["[1.0, 2.0, 3.0]", "[4.0, 5.0, 6.0]"]"#);
    let columns_first: Vec<f32> = (0..16).map(|i| (i % 4 * 4 + i / 4) as f32).collect();
    let data = floats(&columns_first);
    let bytes = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 4, 4), }", &data);
    let Value::Mat4(matrix) = read_as(&bytes, None).expect("reads").get(0) else {
        panic!("no matrix")
    };
    assert!(matrix.0.iter().enumerate().all(|(i, x)| *x == i as f32));
}

#[test]
fn numbers_of_16_bits_become_f32() {
    let data: Vec<u8> =
        [0x3c00_u16, 0xc000, 0x3555, 0x7bff, 0x0400, 0x0001, 0x8000, 0xfc00, 0x7e01]
            .iter()
            .flat_map(|bits| bits.to_be_bytes())
            .collect();
    let bytes = npy("{'descr': '>f2', 'fortran_order': False, 'shape': (9,), }", &data);
    assert_eq!(
        text(&bytes, None),
        r#"f32["1.0", "-2.0", "0.33325195", "65504.0", "0.000061035156", "5.9604645e-8", "-0.0", "\"-inf\"", "\"nan\""]"#
    );
    let column = read_as(&bytes, Some(Type::F64)).expect("reads");
    assert_eq!(column.get(8).lane(0), Some(f64::NAN.to_bits()));
}

#[test]
fn unsupported_arrays_are_named() {
    let unsupported = |dictionary: &str| {
        matches!(read_as(&npy(dictionary, &[]), None), Err(IoError::Unsupported { .. }))
    };
    assert!(unsupported("{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }"));
    let complex = npy("{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }", &[]);
    let error = read_as(&complex, None).expect_err("complex").to_string();
    assert_eq!(error, "`t.npy` holds elements of type `'<c8'`, which cannot be read");
    assert!(unsupported("{'descr': '|O', 'fortran_order': False, 'shape': (0,), }"));
    assert!(unsupported("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }"));
    assert!(unsupported("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2, 2), }"));
    let too_large =
        npy("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", &u64::MAX.to_le_bytes());
    let error = read_as(&too_large, None).expect_err("beyond i64").to_string();
    assert_eq!(error, "`t.npy` row 1: 18446744073709551615 does not fit i64");
    let float = read_as(&too_large, Some(Type::F64)).expect("an f64 holds it");
    assert_eq!(format!("{float:?}"), r#"f64["1.8446744073709552e+19"]"#);
    let wrong = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", &[0; 8]);
    assert!(matches!(read_as(&wrong, Some(Type::VEC3)), Err(IoError::OtherType { .. })));
}

#[test]
fn a_header_that_claims_too_much_allocates_nothing() {
    let of_shape = |shape: &str| {
        npy(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"), &[0; 8])
    };
    assert!(matches!(read_as(&of_shape("(2,)"), None), Err(IoError::Length { .. })));
    assert!(matches!(read_as(&of_shape("()"), None).map(|c| c.len()), Ok(1)));
    assert!(matches!(read_as(&of_shape("(9000000000,)"), None), Err(IoError::Length { .. })));
    assert!(matches!(read_as(&of_shape("(90000, 0)"), None), Err(IoError::Length { .. })));
    let nothing = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (90000, 0), }", &[]);
    assert!(matches!(read_as(&nothing, None), Err(IoError::Unsupported { .. })));
    let huge = "(3, 9999999999999999999, 99)";
    assert!(read_as(&of_shape(huge), None).is_err());
    assert!(matches!(read_as(&of_shape("(0,)"), None), Err(IoError::Length { .. })));
    assert!(read_as(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", None).is_err());
}

#[test]
fn slow_headers_are_refused_immediately() {
    let message = |bytes: &[u8]| read_as(bytes, None).expect_err("is refused").to_string();
    assert!(message(&npy(&"(".repeat(60_000), &[])).contains("brackets"));
    assert!(message(&npy(&"{'a':".repeat(10_000), &[])).contains("brackets"));
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(70_000_u32.to_le_bytes());
    long.resize(100_000, b' ');
    assert!(message(&long).contains("longer than 65536 bytes"));
    let incomplete = "{'descr': '<f4', 'shape': (1,), }";
    assert!(message(&npy(incomplete, &[0; 4])).contains("descr, fortran_order and shape"));
}

#[test]
fn written_headers_have_a_fixed_length() {
    for ty in [Type::F32, Type::BOOL, Type::I64, Type::VEC3, Type::MAT4] {
        let most = header::write(ty, &[u64::MAX / 16]);
        assert_eq!((header::write(ty, &[0]).len(), most.len()), (128, 128), "{ty}");
    }
    let mut n_longer = 0;
    for n_axes in 1..30 {
        let mut axes = vec![1; n_axes];
        axes[0] = 1 << 59;
        let fewer = [&[3], &axes[1..]].concat();
        let padded = header::write_fewer(Type::VEC3, &fewer, &axes);
        assert_eq!(padded.len(), header::write(Type::VEC3, &axes).len());
        n_longer += usize::from(padded.len() > header::write(Type::VEC3, &fewer).len());
        assert_eq!(usize::from(u16::from_le_bytes([padded[8], padded[9]])) + 10, padded.len());
        assert!(padded.ends_with(b" \n"));
    }
    assert!(n_longer > 0);
}

#[test]
fn an_axis_may_have_fewer_cells_than_announced() {
    let written = |n_rows: usize| {
        let columns = vec![ColumnSpec::new("x", Type::F32)];
        let options = WriteOptions { axes: vec![4, 5], ..WriteOptions::default() };
        let mut writer =
            TableWriter::in_memory(Format::NPY, options, columns).expect("npy holds it");
        writer.write_rows(&[(0..n_rows).map(|i| i as f32).collect()]).expect("it is written");
        writer.finish()
    };
    let shape = |n_rows| {
        let bytes = written(n_rows).expect("whole cells are written");
        assert_eq!(bytes.len(), 128 + 4 * n_rows);
        let text = String::from_utf8_lossy(&bytes[..128]).into_owned();
        text.split_once("'shape': ").map(|(_, rest)| rest.trim_end().to_owned())
    };
    assert_eq!(shape(20).as_deref(), Some("(4, 5, ), }"));
    assert_eq!(shape(10).as_deref(), Some("(2, 5, ), }"));
    assert!(written(11).is_err() && written(25).is_err());
}

#[test]
fn all_nans_of_a_file_become_the_same() {
    let nans = [0x7fc0_0001_u32, 0xffc0_0000, 0x7f80_0001];
    let data: Vec<u8> = nans.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    let bits = |ty| {
        let column = read_as(&npy(dictionary, &data), Some(ty)).expect("reads");
        column.iter().map(|value| value.lane(0).expect("a float")).collect::<Vec<_>>()
    };
    assert_eq!(bits(Type::F32), [u64::from(f32::NAN.to_bits()); 3]);
    assert_eq!(bits(Type::F64), [f64::NAN.to_bits(); 3]);
    let big = "{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }";
    let column = read_as(&npy(big, &0xfff8_0000_dead_beef_u64.to_be_bytes()), None).expect("reads");
    assert_eq!(column.get(0).lane(0), Some(f64::NAN.to_bits()));
}
