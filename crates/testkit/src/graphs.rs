//! Graphs that tests and benchmarks share, as text.

/// The area of a triangle by Heron's formula, as the text of a graph.
pub const HERON: &str = "
    n0 = input a: vec3 = [0.0, 0.0, 0.0]
    n1 = input b: vec3 = [1.0, 0.0, 0.0]
    n2 = input c: vec3 = [0.0, 1.0, 0.0]
    n3 = vector.distance n0 n1
    n4 = vector.distance n0 n2
    n5 = vector.distance n1 n2
    n6 = math.add n3 n4
    n7 = math.add n6 n5
    n8 = const 2.0
    n9 = math.divide n7 n8
    n10 = math.subtract n9 n3
    n11 = math.subtract n9 n4
    n12 = math.subtract n9 n5
    n13 = math.multiply n9 n10
    n14 = math.multiply n13 n11
    n15 = math.multiply n14 n12
    n16 = math.sqrt n15
    output area n16";
