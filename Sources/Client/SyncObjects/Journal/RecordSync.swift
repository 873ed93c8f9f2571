import SyncCore
public import SyncModel
import TomboloModeling

/// The progress of the writes of one object.
public enum RecordSync: Sendable {
    /// A draft, or edits that are not saved.
    case unsaved
    /// Saved on this device, but not confirmed by the server.
    case pending
    /// Rejected by the server, or lost, and nobody has decided about it yet. See ``RejectedWrite``.
    case rejected(RejectedWrite)
    /// The server has confirmed all writes, or the object is a placeholder whose id is not known.
    case synced
}

extension Live {
    /// The progress of the writes of this object. A rejection takes precedence over all other states.
    public var sync: RecordSync {
        get throws(ModelError) {
            guard let id else { return .synced }
            let rejection = try cell.objects.rejections.all().last { rejection in
                rejection.changes.contains { $0.record == id && $0.collection == cell.collection.rawValue }
            }
            if let rejection { return .rejected(rejection) }
            if presence == .draft || !edits.isEmpty { return .unsaved }
            return try isPending() ? .pending : .synced
        }
    }
}

extension Live {
    /// The space in which the record lives, or in which a draft is to be created; nil if it is not known.
    public var space: SpaceID? {
        get throws(ModelError) {
            guard let id, let store = cell.objects.source.journal else { return cell.space }
            do throws(StoreError) {
                return try store.space(of: cell.collection, id) ?? cell.space
            } catch {
                throw ModelError(error)
            }
        }
    }
}

extension ModelAccess {
    /// The rejected or lost transactions that nobody has decided about: those that exist now, and then each new one.
    public var rejections: JournalEntries<RejectedWrite> {
        JournalEntries(objects) { [objects] in RejectedWrite($0, objects: objects) }
    }

    /// The merges in which values were lost, and that nobody has decided about: those that exist now, and then each new
    /// one.
    public var merges: JournalEntries<MergedWrite> {
        JournalEntries(objects) { [objects] entry throws(StoreError) in
            try MergedWrite(entry, objects: objects) { () throws(StoreError) in
                try objects.source.journal?.clients() ?? []
            }
        }
    }
}

extension LiveObjects {
    /// Writes the changes of an undecided journal entry again, over the current values.
    func retry(journal entry: Int64) throws(ModelError) {
        guard let journal = source.journal else { throw .noJournal }
        do throws(StoreError) {
            _ = try journal.retry(
                journal: entry, now: runtime.now(),
                newID: { [runtime] in
                    var random = runtime.generator
                    return RecordID.make(at: runtime.now(), random: &random)
                })
        } catch {
            throw ModelError(decidingAbout: entry, error)
        }
    }

    /// Dismisses a journal entry, unless somebody has decided about it.
    func dismiss(journal entry: Int64) throws(ModelError) {
        do throws(ModelError) {
            try decide { store in try store.dismiss(journal: entry) }
        } catch {
            // The journal has deleted the entry, because it was decided.
            if case .store(let failure) = error.cause, failure.code == .missingEntry { return }
            throw error
        }
    }

    /// Throws `alreadyDecided` if somebody has decided about a journal entry.
    func requireUndecided(journal entry: Int64) throws(ModelError) {
        let state = try decide { store in try store.journalEntry(entry)?.state }
        guard state != .active else { return }
        let outcome = state.map { "has already been \($0.rawValue)" } ?? "is no longer in the journal"
        throw ModelError(
            .alreadyDecided,
            "entry \(entry) \(outcome), so nothing was written: read the journal again, and write a new edit to change the current values"
        )
    }

    /// Calls `body`, which reads or writes journal entries, with the store that has the journal.
    ///
    /// - Throws: `noServer` if the client has no journal, or the failure of the store.
    func decide<Value>(_ body: (any LocalStore) throws -> Value) throws(ModelError) -> Value {
        guard let journal = source.journal else { throw .noJournal }
        do throws(StoreError) { return try StoreError.typed { try body(journal) } } catch { throw ModelError(error) }
    }
}
