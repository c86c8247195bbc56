//! The users of nodes: the nodes that read them. A node holds one or two users itself; more are in
//! a list. The lists are blocks of one pool, whose sizes are powers of two.

use millstream_base::pages::reserve_in_huge_pages;

use super::node::{Flags, NONE, Node};

/// The lists of all nodes.
#[derive(Debug, Default)]
pub(super) struct UserLists {
    pool: Vec<u32>,
    /// The starts of free blocks, by the logarithm of the size.
    free: [Vec<u32>; 32],
}

/// The size of the smallest block.
pub(super) const SMALLEST: usize = 4;

fn capacity(n: u32) -> u32 {
    n.next_power_of_two().max(SMALLEST as u32)
}

/// The room in the pool for this number of users of a node.
#[inline(always)]
pub(super) fn room_for(n: u32) -> u32 {
    if n > 2 { capacity(n) } else { 0 }
}

impl UserLists {
    /// The users of a node, each as often as it reads it.
    #[inline(always)]
    pub(super) fn of<'s>(&'s self, node: &'s Node) -> &'s [u32] {
        let [a, b] = node.users;
        if node.flags.has(Flags::LISTED) {
            &self.pool[a as usize..][..b as usize]
        } else {
            let n = usize::from(a != NONE) + usize::from(b != NONE);
            &node.users[..n]
        }
    }

    /// Adds a user.
    #[inline(always)]
    pub(super) fn add(&mut self, node: &mut Node, user: u32) {
        if node.flags.has(Flags::LISTED) || node.users[1] != NONE {
            self.add_to_list(node, user);
        } else {
            node.users[usize::from(node.users[0] != NONE)] = user;
        }
    }

    /// Assigns users to nodes that have none. `users` has those of all nodes in sequence, and room
    /// for a smallest block after them; `ends` says where those of each node end, and `n_listed`
    /// how much room lists need in all.
    pub(super) fn put(&mut self, nodes: &mut [Node], users: &[u32], ends: &[u32], n_listed: u32) {
        let (mut start, mut block) = (0, self.pool.len());
        let n_pool = block + n_listed as usize;
        u32::try_from(n_pool).expect("limits keep links within 32 bits");
        reserve_in_huge_pages(&mut self.pool, n_listed as usize + SMALLEST);
        self.pool.resize(n_pool + SMALLEST, NONE);
        for (node, &end) in nodes.iter_mut().zip(ends) {
            let (n, users) = (end - start, &users[start as usize..]);
            // A branch on whether the node has a list would often be mispredicted. So the smallest
            // list is always written; the next node overwrites it if there is none.
            self.pool[block..][..SMALLEST].copy_from_slice(&users[..SMALLEST]);
            if n as usize > SMALLEST {
                self.pool[block..][..n as usize].copy_from_slice(&users[..n as usize]);
            }
            let is_listed = n > 2;
            let [a, b] = [users[0], users[1]];
            let pair = [if n > 0 { a } else { NONE }, if n > 1 { b } else { NONE }];
            node.users = if is_listed { [block as u32, n] } else { pair };
            node.flags.set(if is_listed { Flags::LISTED } else { 0 });
            block += room_for(n) as usize;
            start = end;
        }
        debug_assert_eq!(block, n_pool, "what is needed was counted");
        self.pool.truncate(n_pool);
    }

    fn add_to_list(&mut self, node: &mut Node, user: u32) {
        if node.flags.has(Flags::LISTED) {
            let [start, n] = node.users;
            let start = if n == capacity(n) { self.moved(start, n) } else { start };
            self.pool[(start + n) as usize] = user;
            node.users = [start, n + 1];
        } else {
            let start = self.block(SMALLEST as u32);
            let [a, b] = node.users;
            self.pool[start as usize..][..3].copy_from_slice(&[a, b, user]);
            node.users = [start, 3];
            node.flags.set(Flags::LISTED);
        }
    }

    /// Removes one entry of a user. Other entries may change places.
    pub(super) fn remove(&mut self, node: &mut Node, user: u32) {
        if node.flags.has(Flags::LISTED) {
            let [start, n] = node.users;
            let list = &mut self.pool[start as usize..][..n as usize];
            let at = list.iter().position(|known| *known == user);
            list.swap(at.expect("a node knows its users"), n as usize - 1);
            node.users[1] = n - 1;
            if n - 1 == 2 {
                let pair = [self.pool[start as usize], self.pool[start as usize + 1]];
                self.free[SMALLEST.ilog2() as usize].push(start);
                node.users = pair;
                node.flags.clear(Flags::LISTED);
            } else if capacity(n - 1) < capacity(n) {
                let half = capacity(n - 1);
                self.free[half.ilog2() as usize].push(start + half);
            }
        } else if node.users[1] == user {
            node.users[1] = NONE;
        } else {
            assert_eq!(node.users[0], user, "a node knows its users");
            node.users = [node.users[1], NONE];
        }
    }

    /// Moves a list of `n` into a block of twice the size.
    fn moved(&mut self, start: u32, n: u32) -> u32 {
        let to = self.block(2 * n);
        self.pool.copy_within(start as usize..(start + n) as usize, to as usize);
        self.free[n.ilog2() as usize].push(start);
        to
    }

    fn block(&mut self, size: u32) -> u32 {
        if let Some(start) = self.free[size.ilog2() as usize].pop() {
            return start;
        }
        let start = self.pool.len();
        reserve_in_huge_pages(&mut self.pool, size as usize);
        self.pool.resize(start + size as usize, NONE);
        u32::try_from(start).expect("limits keep links within 32 bits")
    }

    /// Size of the pool in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.pool.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_a_bag() {
        let mut lists = UserLists::default();
        let blank = Node {
            value: 0,
            inputs: [0; 3],
            users: [NONE; 2],
            code: 0,
            flags: Flags::new(0, millstream_base::Lane::I32),
        };
        let mut nodes = [blank; 3];
        let mut model: [Vec<u32>; 3] = Default::default();
        let mut state = 7_u64;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (k, user) = ((state >> 40) as usize % 3, (state >> 50) as u32 % 7);
            if state >> 33 & 7 < 4 {
                lists.add(&mut nodes[k], user);
                model[k].push(user);
            } else if let Some(at) = model[k].iter().position(|known| *known == user) {
                lists.remove(&mut nodes[k], user);
                model[k].swap_remove(at);
            }
            let mut found = lists.of(&nodes[k]).to_vec();
            found.sort_unstable();
            model[k].sort_unstable();
            assert_eq!(found, model[k]);
        }
    }
}
