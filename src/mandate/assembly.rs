//! Assembly (`mandate.md` 4): which policies stand in which order, from their ids and parents alone.

use std::collections::{BTreeMap, BTreeSet};

/// What assembly knows of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member<'a> {
    /// Its id; `None` where a credential names no policy.
    pub(super) id: Option<&'a str>,
    pub(super) parent: Parent<'a>,
}

/// `odrld:delegatedUnder`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent<'a> {
    /// The policy is a root.
    None,
    Policy(&'a str),
    /// The policy's content could not be had, so its place is open. It refuses later, in phase B.
    Unknown,
}

/// Why the policies stand in no order, and which of them does not fit, where it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misplaced<'a> {
    pub(super) detail: &'static str,
    pub(super) policy: Option<&'a str>,
    /// The parent that it names.
    pub(super) under: Option<&'a str>,
}

impl Misplaced<'_> {
    fn all(detail: &'static str) -> Self {
        Self { detail, policy: None, under: None }
    }
}

/// Chains of indices into the members, each root first. There are one or two; with an open place there may be more
/// pieces, in the order in which phase A looks at them.
pub(super) fn assemble<'a>(members: &[Member<'a>]) -> Result<Vec<Vec<usize>>, Misplaced<'a>> {
    if members.is_empty() {
        return Err(Misplaced::all("there is no policy"));
    }
    let ids = by_id(members)?;
    let children = by_parent(members, &ids)?;
    let mut starts: Vec<usize> =
        (0..members.len()).filter(|at| !matches!(parent(members, *at), Parent::Policy(_))).collect();
    starts.sort_by_key(|at| {
        (parent(members, *at) == Parent::Unknown, members.get(*at).and_then(|member| member.id))
    });
    let roots = starts.iter().filter(|at| parent(members, **at) == Parent::None).count();
    if roots > 2 || starts.len() > 2 && roots == starts.len() {
        return Err(Misplaced::all("there are more than two roots"));
    }
    let chains: Vec<Vec<usize>> = starts
        .into_iter()
        .map(|start| std::iter::successors(Some(start), |at| children.get(at).copied()).collect())
        .collect();
    // Every member has one parent or is a start, so whoever is in no chain is in a cycle.
    if chains.iter().map(Vec::len).sum::<usize>() < members.len() {
        return Err(Misplaced::all("policies are delegated under each other in a cycle"));
    }
    Ok(chains)
}

fn parent<'a>(members: &[Member<'a>], at: usize) -> Parent<'a> {
    members.get(at).map_or(Parent::None, |member| member.parent)
}

fn by_id<'a>(members: &[Member<'a>]) -> Result<BTreeMap<&'a str, usize>, Misplaced<'a>> {
    let mut ids = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        match member.id {
            Some(id) if ids.insert(id, at).is_some() => {
                let detail = "two policies have one id";
                return Err(Misplaced { policy: Some(id), ..Misplaced::all(detail) });
            }
            None if member.parent != Parent::Unknown => return Err(Misplaced::all("a policy has no id")),
            _ => {}
        }
    }
    Ok(ids)
}

fn by_parent<'a>(
    members: &[Member<'a>],
    ids: &BTreeMap<&str, usize>,
) -> Result<BTreeMap<usize, usize>, Misplaced<'a>> {
    let mut children = BTreeMap::new();
    let mut branches = BTreeSet::new();
    for (at, member) in members.iter().enumerate() {
        if let Parent::Policy(under) = member.parent {
            let misplaced = |detail| Misplaced { detail, policy: member.id, under: Some(under) };
            let parent = ids
                .get(under)
                .ok_or_else(|| misplaced("a policy is delegated under one that is not presented"))?;
            if !branches.insert(*parent) {
                return Err(misplaced("two policies are delegated under one"));
            }
            children.insert(*parent, at);
        }
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All chains of all assignments of parents to `count` policies, checked against a plain definition.
    #[test]
    fn every_small_graph_is_assembled_exactly_if_it_is_one_or_two_paths() {
        const IDS: [&str; 4] = ["a", "b", "c", "d"];
        for count in 1..=4usize {
            // Parent of each: none, a policy, or a stranger.
            let choices = count + 2;
            for mut code in 0..choices.pow(count as u32) {
                let members: Vec<Member<'_>> = (0..count)
                    .map(|at| {
                        let choice = code % choices;
                        code /= choices;
                        let parent = match choice {
                            0 => Parent::None,
                            1 => Parent::Policy("stranger"),
                            place => Parent::Policy(IDS[place - 2]),
                        };
                        Member { id: Some(IDS[at]), parent }
                    })
                    .collect();
                assert_eq!(assemble(&members).is_ok(), is_paths(&members), "{members:?}");
            }
        }
    }

    /// One or two roots, at most one child each, and every policy reaches a root.
    fn is_paths(members: &[Member<'_>]) -> bool {
        let roots = members.iter().filter(|member| member.parent == Parent::None).count();
        let children = |id: &str| members.iter().filter(|member| member.parent == Parent::Policy(id)).count();
        let reaches_root = |start: &Member<'_>| {
            let mut parent = start.parent;
            for _ in 0..=members.len() {
                let Parent::Policy(id) = parent else { return parent == Parent::None };
                match members.iter().find(|member| member.id == Some(id)) {
                    Some(found) => parent = found.parent,
                    None => return false,
                }
            }
            false
        };
        (1..=2).contains(&roots)
            && members.iter().all(|member| children(member.id.unwrap()) <= 1 && reaches_root(member))
    }

    #[test]
    fn the_order_of_presentation_does_not_matter() {
        let chain = [("a", Parent::None), ("b", Parent::Policy("a")), ("c", Parent::Policy("b"))];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let members: Vec<_> =
                order.iter().map(|at| Member { id: Some(chain[*at].0), parent: chain[*at].1 }).collect();
            let chains = assemble(&members).unwrap();
            let ids: Vec<_> = chains[0].iter().map(|at| members[*at].id.unwrap()).collect();
            assert_eq!(ids, ["a", "b", "c"]);
        }
    }

    #[test]
    fn duplicate_and_missing_ids_refuse() {
        let twice =
            [Member { id: Some("a"), parent: Parent::None }, Member { id: Some("a"), parent: Parent::None }];
        let twice = assemble(&twice).unwrap_err();
        assert_eq!((twice.detail, twice.policy.is_some()), ("two policies have one id", true));
        assert_eq!(
            assemble(&[Member { id: None, parent: Parent::None }]),
            Err(Misplaced::all("a policy has no id"))
        );
        assert_eq!(assemble(&[]), Err(Misplaced::all("there is no policy")));
    }

    #[test]
    fn an_open_place_is_kept_where_its_child_puts_it() {
        let members = [
            Member { id: Some("leaf"), parent: Parent::Policy("root") },
            Member { id: Some("root"), parent: Parent::Unknown },
        ];
        assert_eq!(assemble(&members), Ok(vec![vec![1, 0]]));
        assert_eq!(assemble(&[Member { id: None, parent: Parent::Unknown }]), Ok(vec![vec![0]]));
    }

    #[test]
    fn an_open_place_hides_no_other_problem() {
        let open = Member { id: Some("open"), parent: Parent::Unknown };
        let orphan = Member { id: Some("a"), parent: Parent::Policy("stranger") };
        assert!(assemble(&[open.clone(), orphan]).is_err());
        let fork = |id| Member { id: Some(id), parent: Parent::Policy("open") };
        assert!(assemble(&[open, fork("a"), fork("b")]).is_err());
    }
}
