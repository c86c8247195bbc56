//! The faces of a mesh whose vertices are the rows of a table.

/// Faces as the rows of their corners, counted from 0; they are written to obj, ply and glTF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faces {
    corners: Vec<i32>,
    /// The number of corners of each face; `None` for triangles.
    sizes: Option<Vec<i32>>,
}

impl Faces {
    /// Triangles, three corners each.
    ///
    /// # Errors
    /// A message if the number of corners is not a multiple of three.
    pub fn triangles(corners: Vec<i32>) -> Result<Self, String> {
        let n = corners.len();
        if n.is_multiple_of(3) {
            return Ok(Self { corners, sizes: None });
        }
        Err(format!("{n} corners cannot be divided into triangles"))
    }

    /// Polygons with any number of corners, in order.
    ///
    /// # Errors
    /// A message if a polygon has fewer than three corners, or if the sizes do not add up to the
    /// number of corners.
    pub fn polygons(corners: Vec<i32>, sizes: Vec<i32>) -> Result<Self, String> {
        if let Some(k) = sizes.iter().position(|size| *size < 3) {
            return Err(format!(
                "face {k} (counted from 0) has {} corners, but a face needs at least 3",
                sizes[k]
            ));
        }
        let sum: i64 = sizes.iter().map(|size| i64::from(*size)).sum();
        if sum != corners.len() as i64 {
            return Err(format!("the faces have {sum} corners, but {} are given", corners.len()));
        }
        Ok(Self { corners, sizes: Some(sizes) })
    }

    /// The number of faces.
    pub fn len(&self) -> usize {
        self.sizes.as_ref().map_or(self.corners.len() / 3, Vec::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// The corners of each face.
    pub fn iter(&self) -> impl Iterator<Item = &[i32]> {
        let mut rest = &self.corners[..];
        let size_of = |k: usize| self.sizes.as_ref().map_or(3, |sizes| sizes[k] as usize);
        (0..self.len()).map(move |k| {
            let (face, after) = rest.split_at(size_of(k));
            rest = after;
            face
        })
    }

    /// The maximum number of corners of a face.
    pub(crate) fn most_corners(&self) -> usize {
        self.iter().map(<[i32]>::len).max().unwrap_or(3)
    }

    /// The corners of triangles, where each face becomes a fan around its first corner.
    pub(crate) fn fans(&self) -> impl Iterator<Item = [i32; 3]> {
        let fan = |face: &[i32]| {
            let first = face[0];
            face[1..].windows(2).map(|pair| [first, pair[0], pair[1]]).collect::<Vec<_>>()
        };
        self.iter().flat_map(fan)
    }

    /// Checks that all corners are rows.
    ///
    /// # Errors
    /// A message about the first one that is not.
    pub(crate) fn check(&self, n_rows: u64) -> Result<(), String> {
        let is_row = |corner: &i32| u64::try_from(*corner).is_ok_and(|row| row < n_rows);
        match self.iter().enumerate().find_map(|(k, face)| {
            let wrong = face.iter().find(|corner| !is_row(corner))?;
            Some((k, *wrong))
        }) {
            None => Ok(()),
            Some((k, wrong)) => {
                let known = match n_rows {
                    0 => "there are no vertices".into(),
                    1 => "the only vertex is 0".into(),
                    n => format!("the vertices are 0 to {}", n - 1),
                };
                Err(format!(
                    "face {k} (counted from 0) has a corner at vertex {wrong}, but {known}"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygons_become_fans() {
        let faces = Faces::polygons(vec![0, 1, 2, 3, 4, 5, 6], vec![4, 3]).expect("they fit");
        assert_eq!(faces.iter().collect::<Vec<_>>(), [&[0, 1, 2, 3][..], &[4, 5, 6]]);
        assert_eq!(faces.fans().collect::<Vec<_>>(), [[0, 1, 2], [0, 2, 3], [4, 5, 6]]);
        assert_eq!((faces.len(), faces.most_corners()), (2, 4));
        assert_eq!(Faces::triangles(Vec::new()).map(|faces| faces.len()), Ok(0));
    }

    #[test]
    fn invalid_faces_are_refused() {
        assert!(Faces::triangles(vec![0, 1]).is_err());
        assert!(Faces::polygons(vec![0, 1], vec![2]).is_err());
        assert!(Faces::polygons(vec![0, 1, 2], vec![4]).is_err());
        assert!(Faces::polygons(vec![0, 1, 2], vec![i32::MAX, i32::MAX]).is_err());
        let faces = Faces::triangles(vec![0, 1, 2, 0, 1, -1]).expect("two triangles");
        assert_eq!(
            faces.check(3),
            Err("face 1 (counted from 0) has a corner at vertex -1, but the vertices are 0 to 2"
                .into())
        );
        assert!(faces.check(2).is_err_and(|text| text.starts_with("face 0")));
    }
}
