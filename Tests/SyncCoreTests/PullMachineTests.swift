import SyncModel
import Testing

@testable import SyncCore

/// Pulls of one space: pages, resets, contradictions, and receipts.
@Suite struct PullMachineTests {
    /// The hello and the pulls of the other space succeed each time, and reset the wait of the link.
    @Test(arguments: [TransportError.Code.unreachable, .unauthorized, .otherAccount, .incompatible])
    func `a space whose pulls lose the contact does not make the device ask again and again`(code: TransportError.Code)
    {
        var harness = SessionHarness.online(spaces: [.default, "letters"])
        let start = harness.now
        var hellos = 0
        harness.send(.host(.syncRequested))
        while harness.now - start < .seconds(600) {
            if harness.openHello != nil {
                hellos += 1
                harness.answerHello()
            } else if let pull = harness.pull {
                if pull.request.space == .default {
                    harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
                    harness.answerStore(SessionHarness.applied(version: .zero))
                } else {
                    harness.answerPull(.failure(TransportError(code, "cut")))
                }
            } else {
                harness.wake()
            }
        }
        #expect(hellos > 1 && hellos < 40, "\(hellos)")
        // A person who asks for a sync, or a new route, need not wait.
        harness.send(.host(.syncRequested))
        while harness.openHello != nil || harness.pull?.request.space == .default {
            if harness.openHello != nil {
                harness.answerHello()
            } else {
                harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
                harness.answerStore(SessionHarness.applied(version: .zero))
            }
        }
        #expect(harness.pull?.request.space == "letters")
    }

    @Test func `notices that waited for room in the journal are requested at once after the first page with room`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        #expect(harness.pull?.request.notices == nil)
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        harness.answerStore(SessionHarness.applied(version: .zero, notice: 7))
        #expect(harness.pull?.request.notices?.after == 7)
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        harness.answerStore(SessionHarness.applied(version: .zero, notice: 7))
        #expect(harness.pull == nil && harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a cursor that the server calls one of another history, although it names the same one, is reset`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.epoch)))
        #expect(harness.storeActions.isEmpty && harness.pull == nil)
        harness.answerHello()
        harness.answerPull(.success(.mustReset(.epoch)))
        #expect(harness.storeActions == [.resetCursor(.default)])
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull?.request.cursor == nil)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        #expect(harness.session.status(now: harness.now).isInSync)
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.epoch)))
        #expect(harness.storeActions.isEmpty && harness.openHello != nil, "A later answer is doubted first, too.")
    }

    @Test func `each page is requested after the previous one has been applied, until there are no more`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello()
        for version in 1...5 as ClosedRange<Int64> {
            harness.answerPull(
                .success(.page(SessionHarness.page(version: Version(version), head: Version(5), hasMore: version < 5))))
            #expect(harness.pull == nil)
            // Otherwise, the WAL would grow by each page.
            #expect(harness.answerStore(SessionHarness.applied(version: Version(version))).contains(.checkpoint))
            #expect(harness.pull?.request.cursor == (version < 5 ? Cursor(rawValue: "at-\(version)") : nil))
        }
        #expect(harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a page that promises more but repeats the cursor is not applied`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero, cursor: "at-0", hasMore: true))))
        #expect(harness.pull == nil && harness.storeActions.isEmpty)
    }

    @Test func `a page that promises more but does not advance the version does not cause a loop`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero, cursor: "another", hasMore: true))))
        #expect(harness.pull == nil && harness.storeActions.isEmpty)
    }

    @Test func `a page with an older version than the last one is not applied`() {
        var harness = SessionHarness()
        harness.send(
            .host(
                .started(
                    SessionHarness.stored(cursor: Cursor(rawValue: "at-9"), version: Version(9), isComplete: true), .up)
            ))
        harness.answerHello()
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(8)))))
        #expect(harness.storeActions.isEmpty)
        guard case .recovering(let words, _) = harness.session.status(now: harness.now).spaces[0].pull else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("went back from version 9 to 8"))
    }

    @Test func `a page of another history that arrives while the server is unreachable is not applied`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(
            .batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.failure(TransportError(.unreachable, "the server is replaced")))
        #expect(harness.pull != nil)
        harness.answerPull(
            .success(.page(SessionHarness.page(version: Version(1), epoch: Epoch(rawValue: "another")))))
        #expect(harness.storeActions.isEmpty)
    }

    /// Returns a session that has pushed one transaction, and the receipt with which the server has confirmed it at
    /// version 2.
    private func confirmedAtTwo() -> (SessionHarness, CommitReceipt) {
        let receipt = CommitReceipt(space: .default, version: Version(2), cursor: Cursor(rawValue: "receipt"))
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(
            .success(
                .answered(
                    [
                        TransactionResult(
                            number: .first, outcome: .applied(version: Version(2), uids: [], conflicts: []),
                            receipt: receipt)
                    ], epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1))))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        return (harness, receipt)
    }

    @Test func `pulls carry the newest receipt, also when the cursor has reached its version or is lost`() {
        var (harness, receipt) = confirmedAtTwo()
        #expect(harness.pull?.request.receipt == receipt.cursor)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(2)))))
        harness.answerStore(
            .pageApplied(
                .default,
                .applied(
                    StoredSpace(
                        space: .default, cursor: Cursor(rawValue: "at-2"), version: Version(2), isComplete: true,
                        receipt: receipt), outbox: OutboxSummary(), changedRecords: 1)))
        #expect(harness.session.status(now: harness.now).isInSync)
        harness.send(.host(.syncRequested))
        #expect(harness.pull?.request.cursor == Cursor(rawValue: "at-2"))
        #expect(harness.pull?.request.receipt == receipt.cursor)
        harness.answerPull(.success(.mustReset(.horizon)))
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull?.request.cursor == nil)
        #expect(harness.pull?.request.receipt == receipt.cursor)
    }

    /// A push that only loses makes no commit. Its receipt has the version of the commit before it.
    @Test func `of two receipts of one version, the later one is kept`() {
        func receipt(_ version: Int64, _ text: String) -> CommitReceipt {
            CommitReceipt(space: .default, version: Version(version), cursor: Cursor(rawValue: text))
        }
        let space = StoredSpace(
            space: .default, cursor: nil, version: .zero, isComplete: false, receipt: receipt(3, "first"))
        #expect(space.confirmed(by: receipt(3, "second")).receipt?.cursor.rawValue == "second")
        #expect(space.confirmed(by: receipt(2, "older")).receipt?.cursor.rawValue == "first")
        #expect(space.confirmed(by: receipt(4, "newer")).receipt?.cursor.rawValue == "newer")
    }

    @Test func `a cursor beyond the version of the receipt proves the same`() {
        let receipt = CommitReceipt(space: .default, version: Version(3), cursor: Cursor(rawValue: "receipt"))
        func space(at version: Int64, _ cursor: Cursor? = Cursor(rawValue: "cursor")) -> StoredSpace {
            StoredSpace(
                space: .default, cursor: cursor, version: Version(version), isComplete: true, receipt: receipt)
        }
        #expect(space(at: 2).neededReceipt == receipt)
        #expect(space(at: 3).neededReceipt == receipt)
        #expect(space(at: 4).neededReceipt == nil)
        #expect(space(at: 4, nil).neededReceipt == receipt)
    }

    @Test func `a head below a confirmed version puts the history in doubt, and the pull is retried later`() {
        var (harness, receipt) = confirmedAtTwo()
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        #expect(harness.storeActions.isEmpty)
        let space = harness.session.status(now: harness.now).spaces[0]
        #expect(space.historyIsInDoubt)
        #expect(!harness.session.status(now: harness.now).isInSync)
        guard case .waiting(let words, let delay) = space.pull else {
            Issue.record("\(space)")
            return
        }
        #expect(words.contains("restored from an older copy"))
        #expect(delay > .zero)
        harness.send(.host(.syncRequested))
        #expect(harness.pull?.request.receipt == receipt.cursor)
    }

    @Test func `a page requested before a commit was confirmed may end below that commit`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        #expect(harness.pull != nil)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let receipt = CommitReceipt(space: .default, version: Version(1), cursor: Cursor(rawValue: "receipt"))
        harness.answerPush(
            .success(
                .answered(
                    [
                        TransactionResult(
                            number: .first, outcome: .applied(version: Version(1), uids: [], conflicts: []),
                            receipt: receipt)
                    ], epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1))))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        #expect(!harness.session.status(now: harness.now).spaces[0].historyIsInDoubt)
        #expect(harness.storeActions.count == 1, "the page is applied")
    }

    @Test func `a cursor that the server cannot read is replaced by a snapshot`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.cursor)))
        #expect(harness.storeActions.contains(.resetCursor(.default)))
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull != nil)
        #expect(harness.pull?.request.cursor == nil)
    }

    @Test func `a snapshot in response to a cursor is not applied`() {
        var harness = SessionHarness()
        harness.send(
            .host(
                .started(
                    SessionHarness.stored(cursor: Cursor(rawValue: "at-9"), version: Version(9), isComplete: true), .up)
            ))
        harness.answerHello()
        let page = PullPage(
            space: .default, epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1),
            content: .snapshot([], isFirst: true, isLast: true), cursor: Cursor(rawValue: "at-0"), version: .zero,
            head: .zero, hasMore: false)
        harness.answerPull(.success(.page(page)))
        #expect(harness.storeActions.isEmpty)
        guard case .recovering(let words, _) = harness.session.status(now: harness.now).spaces[0].pull else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("restarted the snapshot"))
    }

    @Test
    func `after a contradictory page the session retries, then takes fresh snapshots, and finally retries rarely`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        let contradiction = StoreError(.contradiction, "uid 7 is of another record")
        var resets = 0
        var waits: [Duration] = []
        for attempt in 0..<12 {
            harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
            harness.answerStore(.failed(.space(.default, .applyingPage), contradiction))
            let pull = harness.session.status(now: harness.now).spaces[0].pull
            #expect(pull.obstacle == contradiction.message, "\(pull)")
            let isRecovering = if case .recovering = pull { true } else { false }
            #expect(isRecovering == (attempt < 2), "the first retry and the first snapshot may resolve it: \(pull)")
            let before = harness.now
            harness.wake(while: { $0.pull == nil && $0.storeActions.isEmpty })
            waits.append(harness.now - before)
            if case .resetCursor? = harness.storeActions.first {
                resets += 1
                harness.answerStore(.cursorReset(.default))
                #expect(harness.pull?.request.cursor == nil)
            }
        }
        #expect(resets == 11)
        #expect(waits.prefix(5).allSatisfy { $0 <= harness.policy.backoff.cap })
        #expect(Array(waits.dropFirst(5)) == [300, 600, 1_200, 2_400, 3_600, 3_600, 3_600].map(Duration.seconds))
        // A consistent page is applied, and resets the count of contradictions.
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
        harness.answerStore(SessionHarness.applied(version: Version(3)))
        #expect(harness.session.status(now: harness.now).isInSync)
        #expect(harness.session.pulls[0].contradictions == 0)
        #expect(harness.notes.last == .inSync)
    }

    @Test func `a requested sync takes the fresh snapshot that contradictions have led to, and new contact does not`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        let contradiction = StoreError(.contradiction, "uid 7 is of another record")
        for _ in 0..<2 {
            harness.wake(while: { $0.pull == nil })
            harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
            harness.answerStore(.failed(.space(.default, .applyingPage), contradiction))
        }
        #expect(harness.session.pulls[0].contradictions == 2)
        // The device loses the connection and makes contact again while the snapshot is due.
        harness.send(.device(.linkChanged(.down("cut"))))
        harness.send(.device(.linkChanged(.up)))
        harness.answerHello()
        #expect(harness.pull == nil && harness.storeActions.isEmpty, "\(harness.storeActions)")
        harness.send(.host(.syncRequested))
        guard case .resetCursor(.default)? = harness.storeActions.first else {
            Issue.record("expected a fresh snapshot, found \(harness.storeActions)\n\(harness.log(last: 4))")
            return
        }
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull != nil && harness.pull?.request.cursor == nil)
        #expect(harness.session.pulls[0].contradictions == 2)
    }

    @Test func `a snapshot that restarts repeatedly waits longer each time`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello()
        var waits: [Duration] = []
        for turn in 0..<40 {
            let page = PullPage(
                space: .default, epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1),
                content: .snapshot([], isFirst: true, isLast: false), cursor: Cursor(rawValue: "page-\(turn)"),
                version: Version(1), head: Version(1), hasMore: true)
            harness.answerPull(.success(.page(page)))
            harness.answerStore(
                .pageApplied(
                    .default,
                    .applied(
                        StoredSpace(space: .default, cursor: page.cursor, version: Version(1), isComplete: false),
                        outbox: OutboxSummary(), changedRecords: 1)))
            harness.answerPull(.success(.mustReset(.horizon)))
            let before = harness.now
            harness.wake(while: { $0.storeActions.isEmpty })
            waits.append(harness.now - before)
            harness.answerStore(.cursorReset(.default))
        }
        #expect(harness.notes.last.map { if case .failed("reset", _) = $0 { true } else { false } } == true)
        #expect(waits.max()! > .seconds(30))
    }

    @Test
    func `a page is applied after the cursor it was requested with, and the session follows the store's new cursor`() {
        var harness = SessionHarness()
        harness.send(
            .host(
                .started(
                    SessionHarness.stored(cursor: Cursor(rawValue: "at-9"), version: Version(9), isComplete: true), .up)
            ))
        harness.answerHello()
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(12)))))
        guard case .apply(_, after: Cursor(rawValue: "at-9"), _)? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
        // Another engine on the same database has started a snapshot in the meantime.
        let elsewhere = StoredSpace(
            space: .default, cursor: Cursor(rawValue: "page-2"), version: Version(11), isComplete: false)
        harness.answerStore(
            .pageApplied(.default, .applied(elsewhere, outbox: OutboxSummary(), changedRecords: 0)))
        #expect(harness.pull?.request.cursor == Cursor(rawValue: "page-2"))
    }

    @Test func `a page that could not be written to disk is requested again`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
        harness.answerStore(
            .failed(.space(.default, .applyingPage), StoreError(.inputOutput, "the disk failed")))
        harness.wake(while: { $0.pull == nil && $0.storeActions.isEmpty })
        #expect(harness.storeActions.isEmpty)
    }

    @Test func `a cursor below the horizon starts a snapshot at once, and the next one after a delay`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.horizon)))
        #expect(harness.storeActions == [.resetCursor(.default)])
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull?.request.cursor == nil)
        harness.answerPull(.success(.mustReset(.horizon)))
        #expect(harness.storeActions.isEmpty && harness.pull == nil)
        harness.wake(while: { $0.storeActions.isEmpty })
        #expect(harness.storeActions == [.resetCursor(.default)])
    }
}
