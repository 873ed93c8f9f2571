public import SyncCore
public import SyncModel

extension SQLiteStore: EngineStore {
    public func session() throws(StoreError) -> StoredSession {
        try read(inTransaction: true) { connection in
            guard let meta = try Meta.load(connection) else {
                throw StoreError.withoutIdentity
            }
            return StoredSession(
                identity: meta.identity, epoch: meta.epoch, account: meta.account,
                spaces: try SpaceRow.allStored(of: meta, configuration.limits, connection), outbox: meta.outbox,
                clockOffset: meta.clockOffset.map { .milliseconds($0) })
        }
    }

    public func takeBatch(_ limit: BatchLimit, now: WallTime) throws(StoreError) -> PushBatch? {
        try write { transaction in
            let batch = try transaction.takeBatch(limit, now: now)
            if batch == nil, !transaction.change.touchesOutbox { transaction.rollsBack = true }
            return batch
        }
    }

    public func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws(StoreError) -> OutboxSummary {
        try write { transaction in try transaction.record(results, of: identity, now: now) }
    }

    public func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws(StoreError) -> OutboxSummary {
        try write { transaction in
            try transaction.withdraw(number, of: identity, because: rejection)
        }
    }

    public func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> ApplyResult {
        try write { transaction in
            try transaction.apply(page, after: cursor, brake: brake, now: now)
        }
    }

    public func resetCursor(of space: SpaceID) throws(StoreError) {
        try write { transaction in try transaction.resetCursor(of: space) }
    }

    public func vacate(
        _ space: SpaceID, of epoch: Epoch, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> VacateResult {
        let (result, isDone) = try write { transaction in
            let result = try transaction.vacate(space, of: epoch, brake: brake, now: now)
            return (result, !transaction.rollsBack)
        }
        if isDone { truncateWALSoon() }
        return result
    }

    public func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreError) -> StoredSession {
        try write { transaction in try transaction.adopt(epoch, as: account) }
    }

    public func renewIdentity(as client: ClientID) throws(StoreError) -> StoredSession {
        try write { transaction in try transaction.renewIdentity(as: client) }
    }

    public func observe(_ serverTime: HybridTime, now: WallTime) throws(StoreError) {
        try write { transaction in
            try transaction.observe(serverTime, now: now)
        }
    }
}
