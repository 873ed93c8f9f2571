import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

extension PlantedBug {
    private static func store(
        _ name: String, breaks: [Invariant], _ sentence: String,
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in },
        plant: @escaping @Sendable (inout PlantedStore) -> Void
    ) -> PlantedBug {
        PlantedBug(name, breaks: breaks, sentence, parts: { .wrappingStores(plant) }, shape: shape)
    }

    /// Keeps devices offline for a long time, so that their outboxes hold more than one batch when they reconnect.
    @Sendable private static func keepOffline(_ plan: inout WorldPlan) {
        plan.rates.dropLink = 0.1
        plan.rates.recover = 0.05
        plan.setting.policy.batch = BatchLimit(transactions: 20, bytes: 600)
    }

    /// Makes the server lose many records, and makes users consent to the deletes.
    @Sendable private static func loseRecords(_ plan: inout WorldPlan) {
        plan.rates.emptyServer = 0.03
        plan.rates.allowDeletes = 0.1
        plan.setting.policy.deleteBrake = DeleteBrake(records: 2, percent: 20)
    }

    /// Makes the server lose many records more often, so that a user consents to deletes more than once.
    @Sendable private static func loseRecordsRepeatedly(_ plan: inout WorldPlan) {
        loseRecords(&plan)
        plan.rates.emptyServer = 0.06
        plan.rates.allowDeletes = 0.3
    }

    /// Bugs in the methods of a device's store.
    static let stores: [PlantedBug] = [
        store("acknowledged write not stored", breaks: [.I6, .I1], "a commit returns without having written") {
            $0.onCommit = { (base, edits, seen, space, now) throws(StoreError) in
                if now.milliseconds % 5 == 0, let last = try base.outbox(limit: .max).last { return last.sequence }
                return try base.commit(edits, seen: seen, in: space, now: now)
            }
        },
        store(
            "write applied partially", breaks: [.I10, .I6],
            "the last edit of a transaction with several edits is not written"
        ) {
            $0.onCommit = { (base, edits, seen, space, now) throws(StoreError) in
                try base.commit(edits.count > 1 ? Array(edits.dropLast()) : edits, seen: seen, in: space, now: now)
            }
        },
        store("nothing is sent again", breaks: [.I6], "restoring a journal entry only dismisses it") {
            $0.onRestore = { (base, number, _, _, _) throws(StoreError) in
                try base.dismiss(journal: number)
                return []
            }
        },
        store(
            "newer values overwritten by lost ones", breaks: [.I1],
            "a restore of everything that was lost writes the changes that it should leave",
            shape: loseHistories,
            plant: {
                $0.onRestore = { (base, number, _, now, newID) throws(StoreError) in
                    try base.restore(journal: number, now: now, newID: newID)
                }
            }),
        store(
            "changes that wait are put away", breaks: [.I6],
            "the rest of an entry that was restored in part is dismissed",
            shape: loseHistories,
            plant: {
                $0.onRestore = { (base, number, left, now, newID) throws(StoreError) in
                    let newest = try base.journal(state: nil, limit: 1).first?.number ?? 0
                    let sequences = try base.restore(journal: number, leaving: left, now: now, newID: newID)
                    if let rest = try base.journal(state: .active, limit: 1).first, rest.number > newest {
                        try base.dismiss(journal: rest.number)
                    }
                    return sequences
                }
            }),
        store(
            "head taken for reached", breaks: [.I18],
            "a page that more pages follow counts as the last one", shape: { $0.setting.policy.pageRows = 2 },
            plant: {
                $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                    let result = try base.apply(page, after: cursor, brake: brake, now: now)
                    guard case .applied(let stored, let outbox, let count) = result, stored.isComplete else {
                        return result
                    }
                    let reached = StoredSpace(
                        space: stored.space, cursor: stored.cursor, version: max(page.head, stored.version),
                        isComplete: true, receipt: stored.receipt, notices: stored.notices)
                    return .applied(reached, outbox: outbox, changedRecords: count)
                }
            }),
        store(
            "last sync forgotten", breaks: [.I18], "after a restart, a device does not know when it was last in sync",
            shape: { $0.rates.killDevice = 0.05 },
            plant: { $0.onContact = { _ in ServerContact() } }),
        store(
            "last sync made earlier", breaks: [.I18],
            "after a restart, a device says that it was last in sync an hour before the time that it said then",
            shape: { $0.rates.killDevice = 0.05 },
            plant: {
                $0.onContact = { contact in
                    var contact = contact
                    contact.lastSync = contact.lastSync?.advanced(by: .seconds(-3_600))
                    return contact
                }
            }),
        store("stale read", breaks: [.I6], "a read returns another value than the last write") {
            $0.onRead = { record in
                var record = record
                if record.values.count > 1, case .integer(let boats) = record.values[1] {
                    record.values[1] = .integer(boats &- boats % 2)
                }
                return record
            }
        },
        store(
            "record shown in place of another", breaks: [.I5, .I4],
            "a query returns one record twice, and omits another"
        ) {
            $0.onRecords = { records in
                var records = records
                if records.count > 3 { records[2] = records[1] }
                return records
            }
        },
        store("outbox shown in part", breaks: [.I1, .I6, .I10], "every fifth outbox entry is hidden") {
            $0.onOutbox = { entries in entries.filter { $0.sequence.rawValue % 5 != 3 } }
        },
        store(
            "gap in the feed ignored", breaks: [.I5, .I4, .I7],
            "a commit that a page leaves out counts as one that changed nothing",
            shape: {
                $0.rates.lie = 0.6
                $0.steps = 300
            },
            plant: {
                $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                    do throws(StoreError) {
                        return try base.apply(page, after: cursor, brake: brake, now: now)
                    } catch  where error.code == .contradiction {
                        guard case .commits(let commits) = page.content, let first = commits.first?.version else {
                            throw error
                        }
                        let nothing = Commit(version: Version(first.rawValue - 1), changes: [])
                        return try base.apply(
                            page.with(.commits([nothing] + commits)), after: cursor, brake: brake, now: now)
                    }
                }
            }
        ),
        store("results not recorded", breaks: [.I18, .I4], "the results of a push are not recorded") {
            $0.onRecord = { (base, _, _, _) throws(StoreError) in try base.outboxSummary() }
        },
        store("rejection recorded as success", breaks: [.I17, .I1], "a refused transaction counts as applied") {
            $0.onRecord = { (base, results, identity, now) throws(StoreError) in
                try base.record(
                    results.map { result in
                        guard case .rejected = result.outcome else { return result }
                        return TransactionResult(
                            number: result.number,
                            outcome: .applied(version: Version(1), uids: [], conflicts: []))
                    }, of: identity, now: now)
            }
        },
        store(
            "success recorded as rejection", breaks: [.I17], "every seventh applied transaction is recorded as rejected"
        ) {
            $0.onRecord = { (base, results, identity, now) throws(StoreError) in
                try base.record(
                    results.map { result in
                        guard result.number.rawValue % 7 == 6 else { return result }
                        return TransactionResult(
                            number: result.number,
                            outcome: .rejected(Rejection(code: .forbidden, message: "planted", mutation: nil)))
                    }, of: identity, now: now)
            }
        },
        store("merge not reported", breaks: [.I17, .I6], "conflicts are not written into the journal") {
            $0.onRecord = { (base, results, identity, now) throws(StoreError) in
                try base.record(results.map(\.withoutConflicts), of: identity, now: now)
            }
        },
        store("page in halves", breaks: [.I8, .I18], "half of a page is applied, and the cursor moves past all of it") {
            $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                guard case .commits(let commits) = page.content, commits.count > 1 else {
                    return try base.apply(page, after: cursor, brake: brake, now: now)
                }
                let half = commits.dropLast(commits.count / 2)
                let cut = page.with(.commits(Array(half)), version: half.last?.version)
                return try base.apply(cut, after: cursor, brake: brake, now: now)
            }
        },
        store("commit of a page in halves", breaks: [.I10, .I5], "the last change of a commit is not applied") {
            $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                guard case .commits(let commits) = page.content else {
                    return try base.apply(page, after: cursor, brake: brake, now: now)
                }
                let torn = commits.map { commit in
                    Commit(
                        version: commit.version,
                        changes: commit.changes.count > 1 ? Array(commit.changes.dropLast()) : commit.changes)
                }
                return try base.apply(page.with(.commits(torn)), after: cursor, brake: brake, now: now)
            }
        },
        store("row of a snapshot lost", breaks: [.I8, .I5, .I4], "the last row of a page is not applied") {
            $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                guard case .snapshot(let rows, let isFirst, let isLast) = page.content else {
                    return try base.apply(page, after: cursor, brake: brake, now: now)
                }
                let cut = rows.map {
                    SnapshotRows(collection: $0.collection, records: Array($0.records.dropLast()))
                }
                return try base.apply(
                    page.with(.snapshot(cut, isFirst: isFirst, isLast: isLast)), after: cursor, brake: brake, now: now)
            }
        },
        store("deletes ignored", breaks: [.I12, .I5], "deletions in the feed are not applied") {
            $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                guard case .commits(let commits) = page.content else {
                    return try base.apply(page, after: cursor, brake: brake, now: now)
                }
                let kept = commits.map { commit in
                    Commit(
                        version: commit.version,
                        changes: commit.changes.filter { if case .deleted = $0.effect { false } else { true } })
                }
                return try base.apply(page.with(.commits(kept)), after: cursor, brake: brake, now: now)
            }
        },
        store("oldest of a batch skipped", breaks: [.I3], "a batch of several transactions omits the first one") {
            $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                guard let batch = try base.takeBatch(limit, now: now) else { return nil }
                guard batch.transactions.count > 1 else { return batch }
                return batch.with(transactions: Array(batch.transactions.dropFirst()))
            }
        },
        store("batch out of order", breaks: [.I3], "two transactions change places in a batch") {
            $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                guard let batch = try base.takeBatch(limit, now: now), batch.transactions.count > 1 else {
                    return try base.takeBatch(limit, now: now)
                }
                var transactions = batch.transactions
                let (first, second) = (transactions[0], transactions[1])
                transactions[0] = NumberedTransaction(
                    number: first.number, hash: second.hash, transaction: second.transaction)
                transactions[1] = NumberedTransaction(
                    number: second.number, hash: first.hash, transaction: first.transaction)
                return batch.with(transactions: transactions)
            }
        },
        store(
            "identity not renewed", breaks: [.I16, .I18], "an identity conflict does not renew the identity",
            shape: { $0.rates.rollBackDevice = 0.05 },
            plant: {
                $0.onRenew = { (base, _) throws(StoreError) in try base.session() }
            }),
        store(
            "identity renewed without need", breaks: [.I2, .I16],
            "uncertain transactions are sent again under a new client id"
        ) {
            $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                let batch = try base.takeBatch(limit, now: now)
                guard let first = batch?.transactions.first?.number, first.rawValue % 4 == 3 else { return batch }
                _ = try base.renewIdentity(as: ClientID(bits: Identifier128(high: 1, low: UInt64(first.rawValue))))
                return try base.takeBatch(limit, now: now)
            }
        },
        store(
            "epoch ignored", breaks: [.I15, .I18, .I16, .I8],
            "a new epoch in the hello is not adopted",
            shape: { $0.rates.restoreServer = 0.02 },
            plant: {
                $0.onAdopt = { (base, epoch, account) throws(StoreError) in
                    let session = try base.session()
                    guard session.epoch != nil else { return try base.adopt(epoch, as: account) }
                    return StoredSession(
                        identity: session.identity, epoch: epoch, account: account, spaces: session.spaces,
                        outbox: session.outbox)
                }
            }),
        store(
            "writes dropped with the epoch", breaks: [.I15, .I1], "a new epoch cancels the oldest waiting entry",
            shape: { $0.rates.restoreServer = 0.02 },
            plant: {
                $0.onAdopt = { (base, epoch, account) throws(StoreError) in
                    let isNew = try base.session().epoch.map { $0 != epoch } ?? false
                    let session = try base.adopt(epoch, as: account)
                    guard isNew, let first = try base.outbox(limit: 1).first else { return session }
                    try base.cancel(first.sequence, now: WallTime(milliseconds: 0))
                    return try base.session()
                }
            }),
        store(
            "outbox counted as empty", breaks: [.I4, .I18, .I1], "the status is in sync although entries wait",
            // A later write would send the uncounted one too, so the uncounted write must be the last one of the run.
            shape: { $0.steps = 12 },
            plant: {
                $0.onSummary = { summary in
                    var summary = summary
                    if summary.waiting == 1 { summary.waiting = 0 }
                    if summary.answered > 0 { summary.answered = 0 }
                    return summary
                }
            }),
        store(
            "batch kept in memory", breaks: [.I24, .I3, .I16, .I18],
            "an engine repeats transactions whose outcomes another engine on the database has recorded",
            shape: { $0.rates.rivalEngine = 0.1 },
            plant: {
                let kept = Guarded<PushBatch?>(nil)
                $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                    if let batch = kept.withLock({ $0 }) { return batch }
                    let batch = try base.takeBatch(limit, now: now)
                    kept.withLock { $0 = batch }
                    return batch
                }
                $0.onRecord = { (base, results, identity, now) throws(StoreError) in
                    kept.withLock { $0 = nil }
                    return try base.record(results, of: identity, now: now)
                }
            }),
        store(
            "identity kept in memory", breaks: [.I24, .I16, .I18, .I1],
            "an engine does not notice that another on the database has taken a new identity",
            shape: {
                $0.rates.rivalEngine = 0.1
                $0.rates.rollBackDevice = 0.05
            },
            plant: {
                let kept = Guarded<ClientIdentity?>(nil)
                $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                    guard let batch = try base.takeBatch(limit, now: now) else { return nil }
                    let identity = kept.withLock { kept in
                        kept = kept ?? batch.identity
                        return kept ?? batch.identity
                    }
                    return batch.with(identity: identity)
                }
            }),
        store("batch of any size", breaks: [.I19], "a batch is as large as the outbox", shape: keepOffline) {
            $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                try base.takeBatch(BatchLimit(transactions: limit.transactions, bytes: .max), now: now)
            }
        },
        store(
            "batch of any count", breaks: [.I19], "a batch has all of the outbox's transactions",
            shape: { plan in
                keepOffline(&plan)
                plan.setting.policy.batch = BatchLimit(transactions: 5, bytes: 20_000)
            },
            plant: {
                $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                    try base.takeBatch(BatchLimit(transactions: 100, bytes: limit.bytes), now: now)
                }
            }),
        store("delete brake ignored", breaks: [.I15], "the deletes of a page are not limited", shape: loseRecords) {
            $0.onApply = { (base, page, cursor, _, now) throws(StoreError) in
                try base.apply(page, after: cursor, brake: nil, now: now)
            }
        },
        store(
            "delete brake without a share", breaks: [.I15], "the brake ignores the share of deleted records",
            shape: loseRecords
        ) {
            $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                let weak = brake.map { DeleteBrake(records: $0.records, percent: 100) }
                return try base.apply(page, after: cursor, brake: weak, now: now)
            }
        },
        store(
            "delete brake never applied again", breaks: [.I15], "after one consent, later deletes need none",
            shape: loseRecordsRepeatedly
        ) {
            let hasAgreed = Guarded(false)
            $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                let isReleased = hasAgreed.withLock { hasAgreed in
                    hasAgreed = hasAgreed || brake == nil
                    return hasAgreed
                }
                return try base.apply(page, after: cursor, brake: isReleased ? nil : brake, now: now)
            }
        },
    ]

    /// Makes devices write at the same time, and restores the server often.
    private static func loseHistories(_ plan: inout WorldPlan) {
        plan.setting.devices = max(plan.setting.devices, 3)
        plan.rates.restoreServer = 0.03
        plan.rates.dropLink = max(plan.rates.dropLink, 0.05)
    }
}
