import SyncAuthority
import SyncModel

extension AuthorityStoreConformance {
    static var feedChecks: [Check] {
        [
            Check("versions grow by one in each space, independently") { fixture in
                func take(_ space: SpaceID) throws -> Version {
                    try fixture.write { transaction in
                        try transaction.takeVersion(in: space)
                    }
                }
                try fixture.expect(try take(.default), Version(1), "the first")
                try fixture.expect(try take(.default), Version(2), "the second")
                try fixture.expect(try take("other"), Version(1), "the first of another space")
                let extent = try fixture.read { view in try view.extent(of: .default) }
                try fixture.expect(extent, SpaceExtent(head: Version(2), horizon: .zero), "the extent")
            },
            Check("a commit comes back as it was written, with who made it") { fixture in
                let id = AuthorityStoreFixture.id(1)
                var patch = Patch()
                for (index, value) in values.enumerated() {
                    patch.set(FieldName(unchecked: "f\(index)"), to: value)
                }
                let commit = Commit(
                    version: Version(1),
                    changes: [
                        RecordChange(collection: "user", id: id, effect: .created(uid: UID(.max), patch)),
                        RecordChange(collection: "user", id: id, effect: .created(uid: UID(0), [:])),
                        RecordChange(collection: "avatar", id: id, effect: .updated(patch)),
                        RecordChange(collection: "avatar", id: id, effect: .deleted),
                    ])
                let author = AuthorityStoreFixture.author(7, principal: "Änne \"x\"")
                try fixture.write { transaction in
                    _ = try transaction.takeVersion(in: .default)
                    try transaction.append(
                        commit, to: .default, by: author, fingerprint: AuthorityStoreFixture.fingerprint(1))
                }
                let (commits, found, none) = try fixture.read { view in
                    (
                        try view.commits(in: .default, after: .zero, budget: PageBudget(rows: 10, bytes: 1)),
                        try view.author(of: Version(1), in: .default), try view.author(of: Version(1), in: "other")
                    )
                }
                try fixture.expect(commits, [commit], "the feed")
                try fixture.expect(found, author, "the author")
                try fixture.expect(none, nil, "the author in another space")
            },
            Check("a page of the feed holds whole commits, in order, none missing, one at least") { fixture in
                let sizes = [1, 3, 1, 1, 2, 5, 1]
                let commits = sizes.enumerated().map {
                    AuthorityStoreFixture.commit(Int64($0.offset + 1), changes: $0.element)
                }
                try append(commits, to: .default, in: fixture)
                try append([AuthorityStoreFixture.commit(1)], to: "other", in: fixture)
                for limit in 1...15 {
                    for bytes in [1, AuthorityStoreFixture.ample] {
                        var found: [Commit] = []
                        while found.count < commits.count {
                            let page = try fixture.read { view in
                                try view.commits(
                                    in: .default, after: Version(Int64(found.count)),
                                    budget: PageBudget(rows: limit, bytes: bytes))
                            }
                            let total = page.reduce(0) { $0 + $1.changes.count }
                            try fixture.expect(page.isEmpty, false, "whether a page of \(limit) is empty")
                            try fixture.expect(
                                total <= limit || page.count == 1, true, "whether \(total) changes fit into \(limit)")
                            if bytes == 1 { try fixture.expect(page.count, 1, "commits of a page without room") }
                            let next = found.count + page.count
                            if bytes > 1, next < commits.count {
                                try fixture.expect(
                                    total + sizes[next] > limit, true, "whether the page of \(limit) is full")
                            }
                            found += page
                        }
                        try fixture.expect(found, commits, "the feed in pages of \(limit)")
                    }
                }
                let after = try fixture.read { view in
                    try view.commits(
                        in: .default, after: Version(7), budget: PageBudget(rows: 9, bytes: AuthorityStoreFixture.ample)
                    )
                }
                try fixture.expect(after, [], "after the head")
            },
            Check("the fingerprint of the history is kept at each version from the horizon to the head") { fixture in
                func fingerprints(in space: SpaceID) throws -> [HistoryFingerprint?] {
                    try fixture.read { view in
                        var fingerprints: [HistoryFingerprint?] = []
                        for version in Int64(0)...4 {
                            fingerprints.append(try view.fingerprint(at: Version(version), in: space))
                        }
                        return fingerprints
                    }
                }
                let given = (1...3).map { AuthorityStoreFixture.fingerprint($0) }
                try fixture.expect(try fingerprints(in: .default), [.start, nil, nil, nil, nil], "of an empty space")
                try append((1...3).map { AuthorityStoreFixture.commit(Int64($0)) }, to: .default, in: fixture)
                try fixture.expect(
                    try fingerprints(in: .default), [.start, given[0], given[1], given[2], nil], "after three commits")
                try fixture.expect(try fingerprints(in: "other"), [.start, nil, nil, nil, nil], "of another space")
                for (through, left) in [
                    (Int64(2), [nil, nil, given[1], given[2], nil]), (3, [nil, nil, nil, given[2], nil]),
                ] {
                    try fixture.write { transaction in
                        try transaction.trim(.default, through: Version(through))
                    }
                    try fixture.expect(try fingerprints(in: .default), left, "after a trim through \(through)")
                }
                try fixture.write { transaction in
                    _ = try transaction.takeVersion(in: .default)
                    try transaction.append(
                        AuthorityStoreFixture.commit(4), to: .default, by: AuthorityStoreFixture.author(4),
                        fingerprint: AuthorityStoreFixture.fingerprint(4))
                }
                try fixture.expect(
                    try fingerprints(in: .default), [nil, nil, nil, given[2], AuthorityStoreFixture.fingerprint(4)],
                    "after a commit that follows the trim")
            },
            Check("spaces with long feeds are listed, by the commits and the bytes left") { fixture in
                try append((1...5).map { AuthorityStoreFixture.commit(Int64($0)) }, to: .default, in: fixture)
                try append((1...3).map { AuthorityStoreFixture.commit(Int64($0)) }, to: "other", in: fixture)
                func spaces(exceeding bound: FeedBound) throws -> [SpaceID] {
                    try fixture.read { view in try view.spaces(exceeding: bound) }
                }
                /// The size of one commit, as the store counts it. All commits have the same size.
                func size() throws -> Int {
                    try (1...).first { !(try spaces(exceeding: FeedBound(bytes: 3 * $0)).contains("other")) } ?? 0
                }
                try fixture.expect(
                    try spaces(exceeding: FeedBound(commits: 2)), [.default, "other"], "two spaces of 5 and 3")
                try fixture.expect(try spaces(exceeding: FeedBound(commits: 3)), [.default], "a bound that is met")
                let bytes = try size()
                try fixture.expect(
                    try spaces(exceeding: FeedBound(bytes: 5 * bytes - 1)), [.default], "an exceeded bound of bytes")
                try fixture.expect(
                    try spaces(exceeding: FeedBound(bytes: 5 * bytes)), [], "a bound of bytes that is met")
                try fixture.write { transaction in
                    try transaction.trim(.default, through: Version(3))
                }
                try fixture.expect(
                    try spaces(exceeding: FeedBound(commits: 2)), ["other"], "what was trimmed does not count")
                try fixture.expect(
                    try spaces(exceeding: FeedBound(bytes: 2 * bytes)), ["other"], "what was trimmed has no bytes")
            },
            Check("the surplus of a feed is what exceeds its bound, up to a limit") { fixture in
                try append((1...7).map { AuthorityStoreFixture.commit(Int64($0)) }, to: .default, in: fixture)
                try fixture.write { transaction in
                    try transaction.trim(.default, through: Version(2))
                }
                func surplus(_ bound: FeedBound, limit: Int = 100) throws -> Int64? {
                    try fixture.read { view in
                        try view.surplus(of: .default, over: bound, limit: limit)?.rawValue
                    }
                }
                try fixture.expect(try surplus(FeedBound()), nil, "of a short feed")
                try fixture.expect(try surplus(FeedBound(commits: 5)), nil, "of a feed that meets its bound")
                try fixture.expect(try surplus(FeedBound(commits: 4)), 3, "of one commit too many")
                try fixture.expect(try surplus(FeedBound(commits: 0)), 7, "of commits that are all too many")
                try fixture.expect(try surplus(FeedBound(commits: 0), limit: 2), 4, "up to a limit")
                try fixture.expect(try surplus(FeedBound(bytes: 0)), 7, "of bytes that are all too many")
                try fixture.expect(try surplus(FeedBound(bytes: 0), limit: 2), 4, "of bytes, up to a limit")
                // All commits have the same size, so the bound of bytes removes one after the other.
                var kept: [Int64] = []
                for bytes in 1...2_000 {
                    let last = try surplus(FeedBound(bytes: bytes)) ?? 2
                    if kept.last != last { kept.append(last) }
                }
                try fixture.expect(kept, [7, 6, 5, 4, 3, 2], "as the bound grows")
                let other = try fixture.read { view in
                    try view.surplus(of: "other", over: FeedBound(commits: 0, bytes: 0), limit: 9)
                }
                try fixture.expect(other, nil, "of a space without commits")
            },
            Check("trimming moves the horizon, takes what is below it, and nothing else") { fixture in
                let commits = (1...5).map { AuthorityStoreFixture.commit(Int64($0)) }
                try append(commits, to: .default, in: fixture)
                try append([AuthorityStoreFixture.commit(1)], to: "other", in: fixture)
                let record = AuthorityStoreFixture.record(1, uid: 0, deletion: AuthorityStoreFixture.stamp(1))
                try fixture.write { transaction in try transaction.put(record) }
                let budget = PageBudget(rows: 100, bytes: AuthorityStoreFixture.ample)
                func trim(through version: Int64) throws -> ([Commit], SpaceExtent) {
                    try fixture.write { transaction in
                        try transaction.trim(.default, through: Version(version))
                    }
                    return try fixture.read { view in
                        (
                            try view.commits(in: .default, after: .zero, budget: budget),
                            try view.extent(of: .default)
                        )
                    }
                }
                for (through, horizon) in [(0, 0), (2, 2), (2, 2), (1, 2), (4, 4), (99, 5)] as [(Int64, Int64)] {
                    let (left, extent) = try trim(through: through)
                    try fixture.expect(left, commits.filter { $0.version.rawValue > horizon }, "after \(through)")
                    try fixture.expect(
                        extent, SpaceExtent(head: Version(5), horizon: Version(horizon)), "after \(through)")
                }
                let (tombstone, other) = try fixture.read { view in
                    (try view.record(record.address), try view.commits(in: "other", after: .zero, budget: budget))
                }
                try fixture.expect(tombstone, record, "the tombstone")
                try fixture.expect(other, [AuthorityStoreFixture.commit(1)], "the feed of another space")
                let next = try fixture.write { transaction in
                    try transaction.takeVersion(in: .default)
                }
                try fixture.expect(next, Version(6), "the next version")
            },
        ]
    }

    static func append(_ commits: [Commit], to space: SpaceID, in fixture: AuthorityStoreFixture) throws {
        for commit in commits {
            try fixture.write { transaction in
                _ = try transaction.takeVersion(in: space)
                try transaction.append(
                    commit, to: space, by: AuthorityStoreFixture.author(commit.version.rawValue),
                    fingerprint: AuthorityStoreFixture.fingerprint(UInt64(commit.version.rawValue)))
            }
        }
    }
}
