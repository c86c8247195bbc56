//! Neighbors among points, found with a grid whose cells are as wide as the radius.
//!
//! Points are stored in the order of their rows of cells, and within a row in the order of cells.
//! So all neighbors of a point lie in nine rows, and in each of them in one range.

use std::ops::Range;

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Type, Value, Vec3};
use millstream_node::{Call, Data, Failure, NodeDef, Registry};
use rustc_hash::FxHashMap;

use crate::cells::{check_total, function, put};

pub(super) fn register(registry: &mut Registry) {
    registry.register(neighbors());
}

fn neighbors() -> NodeDef {
    let points = Type::VEC3.list().expect("lists of points are not nested deeply");
    let indices = Type::I32.list().and_then(Type::list).expect("nor are lists of indices");
    NodeDef::new("list.neighbors", "The nearby points of each point in a list")
        .details(
            "The indices, ascending, of all other points at a distance below the radius. A point \
             with NaN has no neighbors and is not a neighbor. If the radius is 0, negative or NaN, \
             no point has neighbors. The time is proportional to the number of nearby pairs, which \
             are found with a grid.",
        )
        .input("points", points, "")
        .input_or("radius", Type::F32, 1.0, "distance up to which points are neighbors")
        .output("value", indices, "indices of the neighbors of each point")
        .kernel(|_| Ok(function(found)))
}

fn found(call: &mut Call<'_>) -> Result<(), Failure> {
    let (lists, radii) = (call.lists(0), call.input::<f32>(1));
    let is_uniform = call.is_uniform();
    let (mut offsets, mut ends, mut indices) = (vec![0], vec![0], Vec::new());
    let mut pace = call.pace();
    for i in call.mask() {
        if !is_uniform {
            ends.resize(i + 1, offsets.len() - 1);
        }
        let points = lists.slice::<Vec3>(i).expect("the items are points");
        let grid = Grid::of(points, radii.get(i));
        pace.work(points.len())?;
        for at in 0..points.len() {
            let first = indices.len();
            let n_looked_at = grid.near(points, at, &mut indices);
            indices[first..].sort_unstable();
            pace.work(n_looked_at)?;
            check_total(indices.len(), call.limits())?;
            offsets.push(indices.len());
        }
        if is_uniform {
            break;
        }
    }
    let inner = Ragged::new(offsets, Column::from_vec(indices));
    let inner = Column::from_ragged(inner.expect("indices are not nested deeply"));
    let data = if is_uniform {
        Data::One(Value::List(inner))
    } else {
        ends.resize(call.extent() + 1, inner.len());
        let lists = Ragged::new(ends, inner).expect("indices are not nested deeply");
        Data::Many(Column::from_ragged(lists))
    };
    put(call, data);
    Ok(())
}

/// A cell by its numbers along x, y and z.
type Cell = [i64; 3];

/// The cell of a point; very distant ones share one.
fn cell(point: &Vec3, radius: f32) -> Cell {
    point.0.map(|x| (x / radius).floor().clamp(-1e15, 1e15) as i64)
}

struct Grid {
    radius: f32,
    /// The points without NaN with their cells, by row and by cell.
    points: Vec<(Cell, i32)>,
    /// The range of points in each row, by y and z.
    rows: FxHashMap<[i64; 2], Range<usize>>,
}

impl Grid {
    fn of(points: &[Vec3], radius: f32) -> Self {
        let mut grid = Self { radius, points: Vec::new(), rows: FxHashMap::default() };
        if radius.is_nan() || radius <= 0.0 {
            return grid;
        }
        let placed = points.iter().enumerate().filter_map(|(i, point)| {
            let cell = cell(point, radius);
            (!point.0.iter().any(|x| x.is_nan())).then_some((cell, i as i32))
        });
        grid.points = placed.collect();
        grid.points.sort_unstable_by_key(|([x, y, z], i)| (*z, *y, *x, *i));
        let mut start = 0;
        for row in grid.points.chunk_by(|(a, _), (b, _)| a[1..] == b[1..]) {
            let [_, y, z] = row[0].0;
            grid.rows.insert([y, z], start..start + row.len());
            start += row.len();
        }
        grid
    }

    /// Appends the neighbors of a point, and returns how many points were examined.
    fn near(&self, points: &[Vec3], at: usize, indices: &mut Vec<i32>) -> usize {
        let Vec3(center) = points[at];
        if self.points.is_empty() || center.iter().any(|x| x.is_nan()) {
            return 1;
        }
        let [x, y, z] = cell(&points[at], self.radius);
        let around = |of: i64| [of - 1, of, of + 1];
        let square = self.radius * self.radius;
        let mut n = 1;
        for row_z in around(z) {
            for row_y in around(y) {
                let Some(row) = self.rows.get(&[row_y, row_z]) else { continue };
                let row = &self.points[row.clone()];
                let first = row.partition_point(|(cell, _)| cell[0] < x - 1);
                let near = row[first..].iter();
                for (_, i) in near.take_while(|(cell, _)| cell[0] <= x + 1) {
                    n += 1;
                    let Vec3(other) = points[*i as usize];
                    let [dx, dy, dz] = [0, 1, 2].map(|k| other[k] - center[k]);
                    if *i as usize != at && dx * dx + dy * dy + dz * dz < square {
                        indices.push(*i);
                    }
                }
            }
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_agree_with_a_search_over_all_pairs() {
        let points: Vec<Vec3> = (0..400)
            .map(|i| {
                let place = |k: i32| ((i * 7919 * (k + 3) + 31 * k) % 1000) as f32 * 0.01 - 5.0;
                Vec3([place(0), place(1), if i % 3 == 0 { 0.0 } else { place(2) }])
            })
            .chain([Vec3([f32::NAN, 0.0, 0.0]), Vec3([0.0; 3]), Vec3([0.0; 3])])
            .collect();
        for radius in [0.0, -1.0, f32::NAN, 0.3, 1.0, 100.0] {
            let grid = Grid::of(&points, radius);
            let mut n_found = 0;
            for (at, a) in points.iter().enumerate() {
                let mut found = Vec::new();
                grid.near(&points, at, &mut found);
                found.sort_unstable();
                let is_near = |b: &Vec3| {
                    let square = (0..3).map(|k| (b.0[k] - a.0[k]).powi(2)).sum::<f32>();
                    radius > 0.0 && square < radius * radius
                };
                let all = points.iter().enumerate();
                let expected: Vec<i32> =
                    all.filter(|(i, b)| *i != at && is_near(b)).map(|(i, _)| i as i32).collect();
                n_found += found.len();
                assert_eq!(found, expected, "point {at}, radius {radius}");
            }
            assert_eq!(n_found > 0, radius > 0.0);
        }
    }
}
