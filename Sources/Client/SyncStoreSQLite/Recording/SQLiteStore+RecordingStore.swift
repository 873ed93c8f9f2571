public import SyncCore

extension SQLiteStore: RecordingStore {
    public func append(_ parts: [RecordingPart], keeping limits: RecordingLimits) throws(StoreError) {
        try writeUnlessBusy { connection in
            var ring = RecordingRing(connection)
            try ring.append(parts)
            try ring.shrink(to: limits)
        }
    }

    public func recording() throws(StoreError) -> [RecordingSegment] {
        try read(inTransaction: true) { connection in
            try RecordingRing(connection).segments()
        }
    }

    public func recordingSummary() throws(StoreError) -> RecordingSummary {
        try read { connection in try RecordingRing(connection).summary() }
    }

    /// Deletes the recording. Waits for other programs, like every write that a person requests.
    public func clearRecording() throws(StoreError) {
        try write { transaction in try RecordingRing(transaction.connection).clear() }
    }
}
