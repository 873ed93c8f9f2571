import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncSimulation
import SyncTestKit
import SyncWire
import Testing

/// Tests that a server whose database was restored from a copy detects this when the first client proves it, without a
/// command by the operator (I15).
@Suite struct HistoryTests {
    /// A server, a copy of its database that was made after the first commit, and a device.
    private struct BackedUpServer {
        /// The server before the restore.
        let world: AuthorityWorld
        let copy: InMemoryAuthorityStore
        var device = Device(1)

        init() throws {
            let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
            world = AuthorityWorld(over: store)
            try world.push(&device, create("user", 1, ["username": .text("a")]))
            copy = store.copy()
        }

        /// Returns the server after the restore.
        func restored() -> AuthorityWorld { AuthorityWorld(over: copy) }
    }

    private static let renewed = Epoch(rawValue: "renewed-1")
    private static let second = create("user", 2, ["username": .text("b")])

    private func cursor(_ response: PullResponse) throws -> Cursor {
        guard case .page(let page) = response else {
            Issue.record("\(response)")
            throw AuthorityWorld.Unexpected()
        }
        return page.cursor
    }

    private func receipt(_ response: PushResponse) throws -> CommitReceipt {
        guard case .answered(let results, _, _) = response, let receipt = results.last?.receipt else {
            Issue.record("\(response)")
            throw AuthorityWorld.Unexpected()
        }
        return receipt
    }

    // MARK: Proof

    @Test func `a cursor beyond the head of a restored server starts a new history once`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let ahead = try cursor(setup.world.page(nil))
        let world = setup.restored()
        #expect(try world.page(ahead) == .mustReset(.epoch))
        #expect(try world.authority.epoch() == Self.renewed)
        let lost = LostHistory(
            epoch: AuthorityWorld.epoch, space: .default, reached: Version(2), head: Version(1),
            witness: .client(setup.device.principal))
        #expect(world.histories.lost == [lost])
        // The cursor now belongs to a history that has ended, so it proves nothing about the new one.
        #expect(try world.page(ahead) == .mustReset(.epoch))
        #expect(try world.authority.epoch() == Self.renewed)
        #expect(world.histories.lost.count == 1)
    }

    @Test func `a fork is recognized if the restored server has reached the version of the cursor`() throws {
        for commits in 1...3 {
            var setup = try BackedUpServer()
            try setup.world.push(&setup.device, Self.second)
            let shown = try cursor(setup.world.page(nil))
            let world = setup.restored()
            var other = Device(2)
            for number in 1...commits {
                try world.push(&other, create("user", UInt64(10 + number), ["username": .text("c")]))
            }
            #expect(try world.page(shown) == .mustReset(.epoch), "\(commits)")
            #expect(world.histories.lost.map(\.head) == [Version(Int64(commits + 1))], "\(commits)")
        }
    }

    @Test func `the cursor of a snapshot that started in the lost history is recognized`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let shown = try cursor(setup.world.page(nil, limit: 1))
        let world = setup.restored()
        #expect(try world.page(shown) == .mustReset(.epoch))
        #expect(world.histories.lost.count == 1)
    }

    @Test func `a receipt proves the loss of a commit that the client has not pulled`() throws {
        var setup = try BackedUpServer()
        let before = try cursor(setup.world.page(nil))
        let push = try setup.device.number([Self.second])
        let receipt = try receipt(setup.world.response(setup.device.request([push]), by: setup.device.principal))
        #expect(receipt.version == Version(2))
        let world = setup.restored()
        // The cursor alone is valid, because the lost commit comes after it.
        _ = try cursor(world.page(before))
        let request = PullRequest(space: .default, cursor: before, receipt: receipt.cursor, limit: 10)
        #expect(
            try world.authority.pull(request, by: setup.device.principal, now: AuthorityWorld.now)
                == .mustReset(.epoch))
        #expect(world.histories.lost.count == 1)
    }

    /// A push that only loses makes no commit, so no version shows that a restore has lost its conflicts.
    @Test func `a receipt proves the loss of a push that made no commit`() throws {
        let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
        let world = AuthorityWorld(over: store)
        var (owner, loser) = (Device(1), Device(2))
        try world.push(&owner, create("user", 1, at: 9, ["username": .text("a"), "bio": .text("won")]))
        let copy = store.copy()
        let push = try loser.number([update("user", 1, at: 1, "bio", .text("lost"))])
        let receipt = try receipt(world.response(loser.request([push]), by: loser.principal))
        #expect(receipt.version == Version(1))
        let request = PullRequest(space: .default, cursor: nil, receipt: receipt.cursor, limit: 10)
        _ = try cursor(world.authority.pull(request, by: loser.principal, now: AuthorityWorld.now))
        let restored = AuthorityWorld(over: copy)
        #expect(
            try restored.authority.pull(request, by: loser.principal, now: AuthorityWorld.now) == .mustReset(.epoch))
        #expect(restored.histories.lost.map(\.transaction) == [push.number])
    }

    @Test func `a push that proves a loss is refused before it takes effect`() throws {
        var setup = try BackedUpServer()
        let first = try setup.device.number([Self.second])
        let receipt = try receipt(setup.world.response(setup.device.request([first]), by: setup.device.principal))
        let world = setup.restored()
        let next = try setup.device.number([create("user", 3, ["username": .text("c")])])
        let request = PushRequest(
            identity: setup.device.identity, epoch: AuthorityWorld.epoch, cursors: [receipt.cursor],
            acknowledged: next.number, transactions: [next])
        #expect(try world.response(request, by: setup.device.principal) == .refused(.epochChanged(Self.renewed)))
        #expect(try world.head() == Version(1))
        #expect(world.histories.lost.count == 1)
    }

    @Test func `proof of a restore is handled before a loss of access`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let ahead = try cursor(setup.world.page(nil))
        var policy = AuthorityPolicy()
        policy.access = AccessRules([])
        let world = AuthorityWorld(policy: policy, over: setup.copy)
        #expect(try world.page(nil) == .noAccess(AuthorityWorld.epoch))
        #expect(try world.page(ahead) == .mustReset(.epoch))
        #expect(try world.page(nil) == .noAccess(Self.renewed))
    }

    // MARK: No proof

    @Test func `a cursor of the current history proves nothing, before and after a trim`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        for number in 1...6 { try world.push(&device, create("user", UInt64(number), ["username": .text("a")])) }
        let cursors = try (Int64(0)...6).map { try world.cursor($0) }
        for cursor in cursors { _ = try self.cursor(world.page(cursor)) }
        try world.authority.trimFeed(of: .default, before: Version(5))
        for (version, cursor) in cursors.enumerated() {
            let response = try world.page(cursor)
            #expect((response == .mustReset(.horizon)) == (version < 4), "\(version)")
        }
        #expect(world.histories.lost.isEmpty)
    }

    @Test func `a cursor at the horizon can prove a loss`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let shown = try setup.world.cursor(2)
        let world = setup.restored()
        var other = Device(2)
        try world.push(&other, create("user", 3, ["username": .text("c")]))
        try world.authority.trimFeed(of: .default, before: Version(3))
        #expect(try world.page(shown) == .mustReset(.epoch))
    }

    @Test func `a forged cursor proves nothing`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        try world.push(&device, create("user", 1, ["username": .text("a")]))
        let forged = FeedCursor(
            epoch: AuthorityWorld.epoch, space: .default, position: .commits(Version(99)), fingerprint: .start
        ).authenticated(with: HistoryKey(words: (1, 2, 3, 4)))
        #expect(try world.page(forged) == .mustReset(.cursor))
        let next = try device.number([Self.second])
        let request = PushRequest(
            identity: device.identity, epoch: AuthorityWorld.epoch, cursors: [forged], acknowledged: next.number,
            transactions: [next])
        guard case .answered = try world.response(request, by: device.principal) else {
            Issue.record("a forged cursor stopped a push")
            return
        }
        #expect(world.histories.lost.isEmpty)
    }

    @Test func `a push with too many cursors is malformed`() throws {
        let world = AuthorityWorld()
        let device = Device(1)
        let many = Array(repeating: Cursor(rawValue: "x"), count: SchemaLimits.shownCursors + 1)
        let request = PushRequest(
            identity: device.identity, epoch: nil, cursors: many, acknowledged: .first, transactions: [])
        let failure = #expect(throws: AuthorityError.self) { try world.response(request, by: device.principal) }
        #expect(failure?.code == .malformed)
    }

    // MARK: Below the horizon

    /// Returns a restored server that has made six more commits and kept only the last one in its feed, the device
    /// whose commit was lost, and the receipt for that commit.
    private func restoredBelowHorizon() throws -> (world: AuthorityWorld, device: Device, receipt: CommitReceipt) {
        var setup = try BackedUpServer()
        let push = try setup.device.number([Self.second])
        let receipt = try receipt(setup.world.response(setup.device.request([push]), by: setup.device.principal))
        let world = setup.restored()
        var other = Device(2)
        for number in 1...6 { try world.push(&other, create("user", UInt64(10 + number), ["username": .text("c")])) }
        try world.authority.trimFeed(of: .default, before: Version(7))
        return (world, setup.device, receipt)
    }

    private func snapshot(
        of world: AuthorityWorld, showing receipt: CommitReceipt, by principal: Principal
    ) throws -> PullResponse {
        let request = PullRequest(space: .default, cursor: nil, receipt: receipt.cursor, limit: 10)
        return try world.authority.pull(request, by: principal, now: AuthorityWorld.now)
    }

    @Test func `a receipt proves the loss of its transaction, even below the horizon`() throws {
        let (world, device, receipt) = try restoredBelowHorizon()
        #expect(try snapshot(of: world, showing: receipt, by: device.principal) == .mustReset(.epoch))
        let lost = LostHistory(
            epoch: AuthorityWorld.epoch, space: .default, reached: Version(2), head: Version(7),
            transaction: TransactionNumber(1), of: device.identity.client, witness: .client(device.principal))
        #expect(world.histories.lost == [lost])
        #expect(lost.description.contains("does not hold transaction 1 of client \(device.identity.client)"))
    }

    @Test func `a push that would leave a gap in a restored ledger proves the loss first`() throws {
        var (world, device, receipt) = try restoredBelowHorizon()
        let next = try device.number([create("user", 3, ["username": .text("d")])])
        let request = PushRequest(
            identity: device.identity, epoch: AuthorityWorld.epoch, cursors: [receipt.cursor],
            acknowledged: next.number, transactions: [next])
        #expect(try world.response(request, by: device.principal) == .refused(.epochChanged(Self.renewed)))
        #expect(world.histories.lost.count == 1)
    }

    @Test func `a receipt proves the loss if a copy of its device has used the number again`() throws {
        let (world, device, receipt) = try restoredBelowHorizon()
        var copy = device
        copy.next = TransactionNumber(1)
        try world.push(&copy, create("user", 4, ["username": .text("d")]))
        #expect(try snapshot(of: world, showing: receipt, by: device.principal) == .mustReset(.epoch))
    }

    @Test func `a receipt below the horizon of the same history proves nothing, whoever shows it`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let push = try device.number([Self.second])
        let receipt = try receipt(world.response(device.request([push]), by: device.principal))
        // The server forgets the outcome of the transaction, because the device has acknowledged it and many later
        // ones.
        for number in 0...AuthorityLimits.keptOutcomes {
            device.acknowledged = device.next
            try world.push(&device, create("user", UInt64(10 + number), ["username": .text("c")]))
        }
        try world.authority.trimFeed(of: .default, before: world.head())
        for principal in [device.principal, Principal(name: "bob")] {
            _ = try cursor(snapshot(of: world, showing: receipt, by: principal))
        }
        #expect(world.histories.lost.isEmpty)
    }

    // MARK: Exactly once

    @Test func `several proofs of one loss start only one history`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let ahead = try cursor(setup.world.page(nil))
        let world = setup.restored()
        let proofs = (2...6).map { reached in
            LostHistory(
                epoch: AuthorityWorld.epoch, space: .default, reached: Version(reached), head: Version(1),
                witness: .client(setup.device.principal))
        }
        // Simulates requests that have all read their proof before the first new history is written.
        for proof in proofs {
            #expect(try world.authority.renewHistory(because: proof, shownBy: [ahead]) == Self.renewed)
        }
        #expect(world.histories.lost == [proofs[0]])
    }

    /// A server over a cluster may read from a former primary, which is behind the one that takes the writes.
    @Test func `a loss that only a reader has seen starts no history`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let ahead = try cursor(setup.world.page(nil))
        let lost = LostHistory(
            epoch: AuthorityWorld.epoch, space: .default, reached: Version(2), head: Version(1),
            witness: .client(setup.device.principal))
        let error = #expect(throws: AuthorityError.self) {
            try setup.world.authority.renewHistory(because: lost, shownBy: [ahead])
        }
        #expect(error?.code == .unavailable && error?.detail?.contains("a database that is behind") == true)
        #expect(try setup.world.authority.epoch() == AuthorityWorld.epoch)
        #expect(setup.world.histories.lost.isEmpty)
    }

    @Test(arguments: [
        (AuthorityWorld.epoch.rawValue, "a new history needs a new name; found 'epoch-1', the name of the current one"),
        ("a b", "'a b' is not a valid epoch; expected 1 to 64 letters, digits, - and _"),
    ])
    func `a new history with the current name, or an invalid one, is refused with the reason`(
        name: String, reason: String
    ) throws {
        let world = AuthorityWorld()
        let failure = #expect(throws: AuthorityError.self) {
            try world.authority.startNewEpoch(.fixed(Epoch(rawValue: name)))
        }
        #expect(failure?.detail == reason)
        #expect(try world.authority.epoch() == AuthorityWorld.epoch)
    }

    @Test func `if a new history cannot be written, the next proof tries again`() throws {
        var setup = try BackedUpServer()
        try setup.world.push(&setup.device, Self.second)
        let ahead = try cursor(setup.world.page(nil))
        let world = setup.restored()
        // Each round lets one more call to the store succeed. The last of the calls commits the new history.
        var calls = 0
        while calls < 20 {
            world.store.arm(after: calls)
            let response = try? world.page(ahead)
            world.store.disarm()
            if response != nil { break }
            #expect(world.histories.lost.isEmpty, "\(calls)")
            #expect(try world.authority.epoch() == AuthorityWorld.epoch, "\(calls)")
            calls += 1
        }
        #expect(calls > 3)
        #expect(try world.page(ahead) == .mustReset(.epoch))
        #expect(world.histories.lost.count == 1)
    }

    // MARK: Receipts

    @Test func `only the last applied transaction of each space has a receipt`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = AuthorityWorld(policy: policy)
        var device = Device(1)
        let batch = [
            try device.number([create("user", 1, ["username": .text("a")])]),
            try device.number([create("user", 2, ["username": .text("b")])], in: "north"),
            try device.number([create("user", 3, ["username": .text("c")])]),
            try device.number([create("user", 4, [:])]),
        ]
        for repetition in 0...1 {
            guard case .answered(let results, _, _) = try world.response(device.request(batch), by: device.principal)
            else {
                Issue.record("refused")
                return
            }
            #expect(results.map { $0.receipt?.space } == [nil, "north", .default, nil], "\(repetition)")
            #expect(results.map { $0.receipt?.version } == [nil, Version(1), Version(2), nil], "\(repetition)")
            for result in results {
                guard let receipt = result.receipt else { continue }
                let shown = try #require(PresentedCursor(receipt.cursor))
                #expect(shown.cursor.position == .receipt(receipt.version, device.identity, result.number))
                let version = try #require(
                    PresentedCursor(world.cursor(receipt.version.rawValue, in: receipt.space)))
                #expect(shown.cursor.fingerprint == version.cursor.fingerprint)
            }
        }
    }

    // MARK: The fingerprint

    @Test func `the fingerprint depends on all contents of a commit and on the commits before it`() {
        let author = CommitAuthor(
            principal: Principal(name: "anna"), identity: Device(1).identity, number: .first,
            committedAt: AuthorityWorld.now)
        func change(_ effect: RecordChange.Effect, _ number: UInt64 = 1, _ collection: CollectionName = "user")
            -> RecordChange
        {
            RecordChange(collection: collection, id: id(number), effect: effect)
        }
        func fingerprint(
            _ changes: [RecordChange], version: Int64 = 1, by author: CommitAuthor = author,
            after: HistoryFingerprint = .start
        ) -> HistoryFingerprint {
            after.extended(by: Commit(version: Version(version), changes: changes), of: author)
        }
        let plain = [change(.updated(["bio": .text("x")]))]
        let later = CommitAuthor(
            principal: author.principal, identity: author.identity, number: author.number,
            committedAt: author.committedAt.advanced(by: .milliseconds(1)))
        let other = CommitAuthor(
            principal: Principal(name: "bob"), identity: author.identity, number: author.number,
            committedAt: author.committedAt)
        let next = CommitAuthor(
            principal: author.principal, identity: author.identity.next, number: author.number,
            committedAt: author.committedAt)
        let device = CommitAuthor(
            principal: author.principal, identity: Device(2).identity, number: author.number,
            committedAt: author.committedAt)
        let numbered = CommitAuthor(
            principal: author.principal, identity: author.identity, number: TransactionNumber(1),
            committedAt: author.committedAt)
        let all: [HistoryFingerprint] = [
            .start, fingerprint([]), fingerprint(plain), fingerprint(plain, version: 2), fingerprint(plain, by: later),
            fingerprint(plain, by: other), fingerprint(plain, by: next), fingerprint(plain, by: device),
            fingerprint(plain, by: numbered),
            fingerprint(plain, after: fingerprint(plain)),
            fingerprint([change(.updated(["bio": .text("x")]), 2)]),
            fingerprint([change(.updated(["bio": .text("x")]), 1, "avatar")]),
            fingerprint([change(.updated(["bio": .json("x")]))]), fingerprint([change(.updated(["bio": .null]))]),
            fingerprint([change(.updated(["bio": .integer(1)]))]),
            fingerprint([change(.updated(["bio": .boolean(true)]))]),
            fingerprint([change(.updated(["bio": .boolean(false)]))]),
            fingerprint([change(.updated(["bio": .real(0)]))]),
            fingerprint([change(.updated(["bio": .real(-1.5)]))]),
            fingerprint([change(.updated(["bio": .reference(id(1))]))]),
            fingerprint([change(.updated(["bi": .text("ox")]))]), fingerprint([change(.updated([:]))]),
            fingerprint([change(.deleted)]),
            fingerprint([change(.created(uid: UID(0), ["bio": .text("x")]))]),
            fingerprint([change(.created(uid: UID(1), ["bio": .text("x")]))]), fingerprint(plain + plain),
        ]
        #expect(Set(all).count == all.count)
        #expect(
            fingerprint([change(.updated(["bio": .real(-0.0)]))]) == fingerprint([change(.updated(["bio": .real(0)]))]))
        #expect(fingerprint(plain) == fingerprint(plain))
    }
}

/// Tests the contents of the mark file next to a server's database.
@Suite struct HistoryMarkTests {
    @Test func `a database that is behind its mark or has forked from it starts a new history`() throws {
        for forkedCommits in 0...2 {
            let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
            let world = AuthorityWorld(over: store)
            var device = Device(1)
            try world.push(&device, create("user", 1, ["username": .text("a")]))
            let copy = store.copy()
            try world.push(&device, create("user", 2, ["username": .text("b")]))
            var mark = HistoryMark()
            try world.authority.update(&mark)
            let restored = AuthorityWorld(over: copy)
            var other = Device(2)
            for number in 0..<forkedCommits {
                try restored.push(&other, create("user", UInt64(number + 5), ["username": .text("c")]))
            }
            let read = try #require(HistoryMark(text: mark.text))
            let lost = try restored.authority.recognizeRestore(by: read)
            #expect(lost?.witness == .mark)
            #expect(restored.histories.lost == [lost].compactMap(\.self))
            #expect(try restored.authority.epoch() == Epoch(rawValue: "renewed-1"))
            // The mark now belongs to a history that has ended.
            #expect(try restored.authority.recognizeRestore(by: read) == nil)
        }
    }

    /// Regression test: the mark forgot the history of the backup when the first restore began a new one.
    @Test func `a backup of an earlier history that is restored again starts a new history each time`() throws {
        let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
        let world = AuthorityWorld(over: store)
        var device = Device(1)
        try world.push(&device, create("user", 1, ["username": .text("a")]))
        let backup = store.copy()
        try world.push(&device, create("user", 2, ["username": .text("b")]))
        var mark = HistoryMark()
        try world.authority.update(&mark)
        for _ in 1...3 {
            let restored = AuthorityWorld(over: backup.copy())
            #expect(try restored.authority.recognizeRestore(by: mark)?.witness == .mark)
            #expect(try restored.authority.recognizeRestore(by: mark) == nil)
            try restored.authority.update(&mark)
            #expect(mark.cursors.count == 1 && mark.formerCursors.count == 1)
            #expect(HistoryMark(text: mark.text) == mark)
        }
    }

    @Test func `a mark that is not newer than the database proves nothing`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        var marks = [HistoryMark()]
        for number in 1...4 {
            try world.push(&device, create("user", UInt64(number), ["username": .text("a")]))
            var mark = try #require(marks.last)
            try world.authority.update(&mark, of: [.default])
            marks.append(mark)
        }
        try world.authority.trimFeed(of: .default, before: Version(4))
        for mark in marks { #expect(try world.authority.recognizeRestore(by: mark) == nil) }
        #expect(marks.last?.cursors.count == 1)
        #expect(world.histories.lost.isEmpty)
    }

    @Test func `a mark of another history proves nothing`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        try world.push(&device, create("user", 1, ["username": .text("a")]))
        var mark = HistoryMark()
        try world.authority.update(&mark)
        let empty = AuthorityWorld(over: InMemoryAuthorityStore(epoch: Epoch(rawValue: "other")))
        #expect(try empty.authority.recognizeRestore(by: mark) == nil)
    }

    @Test(arguments: ["", "\n", "tombolo-mark 1", "tombolo-mark 2\n", "tombolo-mark 1\nx\n", "tombolo-mark 1\n\u{0}\n"])
    func `a damaged mark is not read`(text: String) {
        #expect(HistoryMark(text: text) == nil)
    }

    @Test func `a truncated mark is either invalid or lacks only whole spaces`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = AuthorityWorld(policy: policy)
        var device = Device(1)
        for (number, space) in ["north", "south", "default"].enumerated() {
            try world.push(
                &device, create("user", UInt64(number + 1), ["username": .text("a")]),
                in: SpaceID(stringLiteral: space))
        }
        var mark = HistoryMark()
        try world.authority.update(&mark)
        #expect(mark.cursors.count == 3)
        for length in 0..<mark.text.utf8.count {
            let cut = HistoryMark(text: String(mark.text.prefix(length)))
            #expect(cut == nil || mark.text.prefix(length).hasSuffix("\n"))
            for (space, cursor) in cut?.cursors ?? [:] { #expect(mark.cursors[space] == cursor) }
        }
    }
}
