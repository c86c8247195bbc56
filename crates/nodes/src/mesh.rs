//! Meshes as lists: points with normals and texture coordinates, and triangles as indices of
//! points. `run --save` writes them for viewers.

use millstream_base::num::Float;
use millstream_base::{Type, Vec2, Vec3};
use millstream_node::{Call, Failure, NodeDef, Registry};

use crate::cells::function;
use crate::each::{Element, Items, put_lists};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(grid());
    registry.register(sphere());
    registry.register(normals());
}

const POINTS: &str = "points, row by row";
const FACES: &str = "triangles: three point indices each, counterclockwise seen from outside";

fn list_of(ty: Type) -> Type {
    ty.list().expect("one level of lists")
}

/// The number of cells of a grid in both directions.
#[derive(Clone, Copy)]
struct Counts {
    columns: usize,
    rows: usize,
}

impl Counts {
    /// Clamps the number of cells to a minimum in each direction.
    fn of((columns, rows): (i32, i32), least: (i32, i32)) -> Self {
        Self { columns: columns.max(least.0) as usize, rows: rows.max(least.1) as usize }
    }

    fn n_points(self) -> usize {
        (self.columns + 1).saturating_mul(self.rows + 1)
    }

    /// Checks that the points can be numbered.
    fn check(self, element: &Element<'_>) -> Result<(), Failure> {
        if i32::try_from(self.n_points()).is_ok() {
            return Ok(());
        }
        Err(element.failure(format!("{} points are more than an i32 can count", self.n_points())))
    }

    /// Appends an item for each point, row by row; `of` takes the column and the row.
    fn points<T>(
        self,
        element: &mut Element<'_>,
        out: &mut Vec<T>,
        of: impl Fn(usize, usize) -> T,
    ) -> Result<(), Failure> {
        for row in 0..=self.rows {
            element.pace.work(self.columns + 1)?;
            out.extend((0..=self.columns).map(|column| of(column, row)));
        }
        Ok(())
    }

    /// Appends two triangles per cell, from the points of its row and the next.
    fn triangles(
        self,
        element: &mut Element<'_>,
        out: &mut Vec<i32>,
        of: impl Fn(usize, [i32; 4]) -> [Option<[i32; 3]>; 2],
    ) -> Result<(), Failure> {
        self.check(element)?;
        for row in 0..self.rows {
            element.pace.work(self.columns * 6)?;
            for column in 0..self.columns {
                let first = row * (self.columns + 1) + column;
                let above = first + self.columns + 1;
                let corners = [first, first + 1, above, above + 1].map(|point| point as i32);
                out.extend(of(row, corners).into_iter().flatten().flatten());
            }
        }
        Ok(())
    }
}

/// The fraction done, which is exactly 1 at the end.
fn share(done: usize, all: usize) -> f64 {
    done as f64 / all as f64
}

fn grid() -> NodeDef {
    NodeDef::new("mesh.grid", "A plane as a grid of points and triangles")
        .details(
            "A rectangle around the origin in the xy plane, with triangles that face z. A plane \
             without inner points is a grid of one cell; fewer columns or rows than one count as \
             one. To displace it, compute new points with `list.generate` and their normals with \
             `mesh.normals`.",
        )
        .input_or("size", Type::VEC2, Vec2([1.0, 1.0]), "length in x and y")
        .input_or("columns", Type::I32, 10.0, "cells in x")
        .input_or("rows", Type::I32, 10.0, "cells in y")
        .output("points", list_of(Type::VEC3), POINTS)
        .output("texcoords", list_of(Type::VEC2), "from 0 to 1 along x and y")
        .output("faces", list_of(Type::I32), FACES)
        .kernel(|_| Ok(function(grid_of)))
}

fn grid_of(call: &mut Call<'_>) -> Result<(), Failure> {
    type Inputs = (Vec2, i32, i32);
    let counts = |columns, rows| Counts::of((columns, rows), (1, 1));
    put_lists::<Inputs, Vec3>(
        call,
        0,
        &|(_, columns, rows)| counts(columns, rows).n_points(),
        &|element, (size, columns, rows), out| {
            let counts = counts(columns, rows);
            let along = |done, all, size: f32| ((share(done, all) - 0.5) * f64::from(size)) as f32;
            counts.points(element, out, |column, row| {
                let x = along(column, counts.columns, size.0[0]);
                Vec3([x, along(row, counts.rows, size.0[1]), 0.0])
            })
        },
    )?;
    put_lists::<Inputs, Vec2>(
        call,
        1,
        &|(_, columns, rows)| counts(columns, rows).n_points(),
        &|element, (_, columns, rows), out| {
            let counts = counts(columns, rows);
            let part = |done, all| share(done, all) as f32;
            counts.points(element, out, |column, row| {
                Vec2([part(column, counts.columns), part(row, counts.rows)])
            })
        },
    )?;
    put_lists::<Inputs, i32>(
        call,
        2,
        &|(_, columns, rows)| counts(columns, rows).n_points().saturating_mul(6),
        &|element, (_, columns, rows), out| {
            counts(columns, rows)
                .triangles(element, out, |_, [a, b, c, d]| [Some([a, b, d]), Some([a, d, c])])
        },
    )
}

fn sphere() -> NodeDef {
    NodeDef::new("mesh.sphere", "A sphere as points and triangles")
        .details(
            "Rings of points from the pole at +z to the pole at -z. Each is closed by a second \
             point at the position of its first, where the texture coordinates start again; each \
             pole consists of several points. At least 3 segments and 2 rings of cells.",
        )
        .input_or("radius", Type::F32, 1.0, "")
        .input_or("segments", Type::I32, 32.0, "cells around the z axis")
        .input_or("rings", Type::I32, 16.0, "cells from pole to pole")
        .output("points", list_of(Type::VEC3), POINTS)
        .output("normals", list_of(Type::VEC3), "directions away from the center, of length 1")
        .output(
            "texcoords",
            list_of(Type::VEC2),
            "x from 0 to 1 around the axis, y from 1 at the upper pole to 0",
        )
        .output("faces", list_of(Type::I32), FACES)
        .kernel(|_| Ok(function(sphere_of)))
}

fn sphere_of(call: &mut Call<'_>) -> Result<(), Failure> {
    type Inputs = (f32, i32, i32);
    let counts = |segments, rings| Counts::of((segments, rings), (3, 2));
    for output in 0..2 {
        put_lists::<Inputs, Vec3>(
            call,
            output,
            &|(_, segments, rings)| counts(segments, rings).n_points(),
            &|element, (radius, segments, rings), out| {
                let radius = if output == 0 { f64::from(radius) } else { 1.0 };
                let counts = counts(segments, rings);
                counts.points(element, out, |segment, ring| {
                    let direction = direction(segment, ring, counts);
                    Vec3(direction.map(|part| (part * radius) as f32))
                })
            },
        )?;
    }
    put_lists::<Inputs, Vec2>(
        call,
        2,
        &|(_, segments, rings)| counts(segments, rings).n_points(),
        &|element, (_, segments, rings), out| {
            let counts = counts(segments, rings);
            counts.points(element, out, |segment, ring| {
                let y = share(counts.rows - ring, counts.rows);
                Vec2([share(segment, counts.columns) as f32, y as f32])
            })
        },
    )?;
    put_lists::<Inputs, i32>(
        call,
        3,
        &|(_, segments, rings)| counts(segments, rings).n_points().saturating_mul(6),
        &|element, (_, segments, rings), out| {
            let counts = counts(segments, rings);
            counts.triangles(element, out, |ring, [a, b, c, d]| {
                // At a pole, one of the triangles has no area.
                let [upper, lower] = [ring > 0, ring + 1 < counts.rows];
                [lower.then_some([a, c, d]), upper.then_some([a, d, b])]
            })
        },
    )
}

/// The direction of a point on a sphere; equal directions, and those at the poles, have equal bits.
fn direction(segment: usize, ring: usize, counts: Counts) -> [f64; 3] {
    let turn = share(segment % counts.columns, counts.columns) * std::f64::consts::TAU;
    let (sine, cosine) = match ring {
        0 => (0.0, 1.0),
        ring if ring == counts.rows => (0.0, -1.0),
        ring => {
            let angle = share(ring, counts.rows) * std::f64::consts::PI;
            (Float::sin(angle), Float::cos(angle))
        }
    };
    [sine * Float::cos(turn), sine * Float::sin(turn), cosine]
}

fn normals() -> NodeDef {
    NodeDef::new("mesh.normals", "The normals of the points of a mesh")
        .details(
            "The mean of the normals of the triangles around each point, weighted by area and \
             scaled to length 1; zero for a point without triangles. Points at the same position \
             with different indices have separate normals. Fails if a corner is not the index of a \
             point.",
        )
        .input("points", list_of(Type::VEC3), "points")
        .input("faces", list_of(Type::I32), "triangles: three point indices each")
        .output("value", list_of(Type::VEC3), "a normal per point")
        .kernel(|_| {
            Ok(function(|call| {
                put_lists::<(Items<Vec3>, Items<i32>), Vec3>(
                    call,
                    0,
                    &|(points, _)| points.len(),
                    &|element, (points, faces), out| normals_of(element, points, faces, out),
                )
            }))
        })
}

fn normals_of(
    element: &mut Element<'_>,
    points: &[Vec3],
    faces: &[i32],
    out: &mut Vec<Vec3>,
) -> Result<(), Failure> {
    if !faces.len().is_multiple_of(3) {
        let n = faces.len();
        return Err(element.failure(format!("{n} corners cannot be divided into triangles")));
    }
    let mut sums = vec![[0.0_f64; 3]; points.len()];
    for (k, face) in faces.chunks_exact(3).enumerate() {
        element.pace.work(8)?;
        let mut corners = [[0.0; 3]; 3];
        for (corner, number) in corners.iter_mut().zip(face) {
            let point = usize::try_from(*number).ok().and_then(|i| points.get(i));
            let Some(point) = point else {
                let n = points.len();
                let text = format!(
                    "triangle {k} has a corner at point {number}, but there are {n} points"
                );
                return Err(element.failure(text));
            };
            *corner = point.0.map(f64::from);
        }
        let [a, b, c] = corners;
        let side = |from: [f64; 3], to: [f64; 3]| [0, 1, 2].map(|i| to[i] - from[i]);
        let (u, v) = (side(a, b), side(a, c));
        let normal = [[1, 2], [2, 0], [0, 1]].map(|[i, j]| u[i] * v[j] - u[j] * v[i]);
        for number in face {
            let sum = &mut sums[*number as usize];
            for (part, more) in sum.iter_mut().zip(normal) {
                *part += more;
            }
        }
    }
    for sum in sums {
        element.pace.work(4)?;
        // Scaling first keeps the squares of huge normals finite and those of tiny ones above 0.
        let largest = sum.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let scaled = sum.map(|part| part / scale);
        let length = Float::sqrt(scaled.iter().map(|part| part * part).sum::<f64>());
        let length = if length == 0.0 { 1.0 } else { length };
        out.push(Vec3(scaled.map(|part| (part / length) as f32)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use millstream_base::{Column, Value};
    use serde_json::json;

    use super::*;
    use crate::cells::testing::{list, outputs_of};

    fn items<T: millstream_base::ValueType>(value: &Value) -> Vec<T> {
        let Value::List(list) = value else { panic!("a list") };
        Column::as_slice::<T>(list).expect("of this type").to_vec()
    }

    fn mesh(name: &str, args: Vec<Value>) -> Vec<Value> {
        outputs_of(name, &json!({}), args).expect("it is made")
    }

    /// The normals of triangles, scaled by their areas, and the sum of the areas.
    fn triangles(points: &[Vec3], faces: &[i32]) -> (Vec<[f32; 3]>, f32) {
        let of = |face: &[i32]| {
            let [a, b, c] = [0, 1, 2].map(|i| points[face[i] as usize].0);
            let (u, v) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
            [[1, 2], [2, 0], [0, 1]].map(|[i, j]| (u[i] * v[j] - u[j] * v[i]) / 2.0)
        };
        let normals: Vec<[f32; 3]> = faces.chunks_exact(3).map(of).collect();
        let area = normals.iter().map(|n| n.iter().map(|x| x * x).sum::<f32>().sqrt()).sum();
        (normals, area)
    }

    #[test]
    fn a_grid_covers_its_rectangle_and_faces_z() {
        let size = Value::from(Vec2([4.0, 2.0]));
        let made = mesh("mesh.grid", vec![size, Value::I32(2), Value::I32(0)]);
        let points: Vec<Vec3> = items(&made[0]);
        assert_eq!(points.len(), 6);
        assert_eq!((points[0].0, points[5].0), ([-2.0, -1.0, 0.0], [2.0, 1.0, 0.0]));
        assert_eq!(items::<Vec2>(&made[1])[4].0, [0.5, 1.0]);
        let faces: Vec<i32> = items(&made[2]);
        assert_eq!(faces, [0, 1, 4, 0, 4, 3, 1, 2, 5, 1, 5, 4]);
        let (normals, area) = triangles(&points, &faces);
        assert!(normals.iter().all(|n| n[2] > 0.0) && area == 8.0);
    }

    #[test]
    fn a_sphere_is_closed_and_faces_outward() {
        let made = mesh("mesh.sphere", vec![Value::F32(2.0), Value::I32(48), Value::I32(24)]);
        let (points, normals): (Vec<Vec3>, Vec<Vec3>) = (items(&made[0]), items(&made[1]));
        let faces: Vec<i32> = items(&made[3]);
        assert_eq!((points.len(), faces.len()), (49 * 25, (48 * 24 - 48) * 6));
        for (point, normal) in points.iter().zip(&normals) {
            let length = normal.0.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 1e-6);
            assert!(point.0.iter().zip(normal.0).all(|(p, n)| (p - 2.0 * n).abs() < 1e-6));
        }
        // The seam and the poles are closed.
        assert_eq!(points[49].0, points[49 + 48].0);
        assert_eq!((points[7].0, points[49 * 24 + 7].0), ([0.0, 0.0, 2.0], [0.0, 0.0, -2.0]));
        let (of_faces, area) = triangles(&points, &faces);
        for (normal, face) in of_faces.iter().zip(faces.chunks_exact(3)) {
            let out: f32 = normal.iter().zip(points[face[0] as usize].0).map(|(a, b)| a * b).sum();
            assert!(out > 0.0, "{face:?}");
        }
        let whole = 16.0 * std::f32::consts::PI;
        assert!(area < whole && area > whole * 0.99, "{area}");
    }

    #[test]
    fn normals_are_weighted_means() {
        let made = mesh("mesh.sphere", vec![Value::F32(1.0), Value::I32(64), Value::I32(32)]);
        let computed = mesh("mesh.normals", vec![made[0].clone(), made[3].clone()]);
        let (points, normals): (Vec<Vec3>, Vec<Vec3>) = (items(&made[0]), items(&computed[0]));
        // Inner points only, because the seam has a single side.
        let inner = (1..31).flat_map(|ring| (1..63).map(move |segment| ring * 65 + segment));
        for i in inner {
            let along: f32 = points[i].0.iter().zip(normals[i].0).map(|(a, b)| a * b).sum();
            assert!(along > 0.999, "{i}");
        }
        let tiny = [[0.0, 0.0, 0.0], [1e-30, 0.0, 0.0], [0.0, 1e-30, 0.0], [9.0, 9.0, 9.0]];
        let points = list(tiny.map(Vec3).to_vec());
        let normals = mesh("mesh.normals", vec![points.clone(), list(vec![0, 1, 2])]);
        let normals: Vec<Vec3> = items(&normals[0]);
        assert_eq!((normals[0].0, normals[3].0), ([0.0, 0.0, 1.0], [0.0; 3]));
        for faces in [vec![0, 1], vec![0, 1, 4], vec![0, 1, -1]] {
            assert!(
                outputs_of("mesh.normals", &json!({}), vec![points.clone(), list(faces)]).is_err()
            );
        }
    }
}
