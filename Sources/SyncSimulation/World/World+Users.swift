import SyncConcurrency
import SyncCore
import SyncModel

extension World {
    /// Lets a user do something, as a job among all that are ready.
    func act(on device: SimulatedDevice, seed: UInt64) {
        guard let store = device.store else { return }
        let deed: Workload.Deed?
        do {
            var workload = Workload(seed: seed, spaces: script.setting.spaces)
            deed = try workload.next(store, now: device.wallClock.now)
        } catch {
            note(error, on: device)
            return
        }
        guard let deed else { return }
        simulation.start("user of \(device.name)") { [history, journals, deeds, simulation] in
            let name = device.name
            do {
                try Self.carryOut(deed, on: device, store, history, journals, simulation)
                deeds.withLock { $0.done += 1 }
            } catch let failure as StoreFailure {
                simulation.note("refused: \(failure.code.rawValue)", by: name)
                deeds.withLock { $0.refusals[failure.code.rawValue, default: 0] += 1 }
            } catch {
                deeds.withLock { $0.failure = $0.failure ?? error }
            }
        }
    }

    private static func carryOut(
        _ deed: Workload.Deed, on device: SimulatedDevice, _ store: SimulatedDevice.Store, _ history: History,
        _ journals: JournalWatch, _ simulation: Simulation
    ) throws {
        let now = device.wallClock.now
        switch deed {
        case .write(let edits, let space):
            let sequence: OutboxSequence?
            do {
                sequence = try store.commit(edits, in: space, now: now)
            } catch {
                history.mayHaveCommitted(on: device.name)
                throw error
            }
            guard let sequence else { return }
            history.committed(sequence, on: device.name)
            simulation.note(
                "commits \(sequence): \(edits.map(\.words).joined(separator: ", "))", by: device.name, as: .commit)
            try checkReadsItsWrites(edits, on: device, store)
            try checkWritesAreTogether(edits, at: sequence, on: device, store)
        case .cancel(let back):
            let before = try store.outbox(limit: .max)
            let waiting = before.filter(\.isUnsent)
            guard !waiting.isEmpty else { return }
            let chosen = waiting[max(waiting.count - 1 - back, 0)].sequence
            let kept: Set<OutboxSequence>
            do {
                try store.cancel(chosen, now: now)
                kept = Set(try store.outbox(limit: .max).map(\.sequence))
            } catch {
                // It may have been done nevertheless, with all that depends on it.
                history.cancelled(Set(before.map(\.sequence)), on: device.name)
                throw error
            }
            history.cancelled(Set(before.map(\.sequence)).subtracting(kept), on: device.name)
            simulation.note("cancels \(chosen)", by: device.name)
            guard !kept.contains(chosen) else {
                throw Violation(.I1, "\(device.name) still holds \(chosen) after it was cancelled")
            }
        case .resendNewest:
            guard let entry = try store.journal(state: .active, limit: 1).first else { return }
            history.saw(entry, on: device.name)
            journals.dealsWith(entry.number, on: device.name)
            let identifiers = Guarded(simulation.random("restored by \(device.name), \(entry.number)"))
            let sequences: [OutboxSequence]
            do {
                sequences = try store.resend(journal: entry.number, now: now) {
                    identifiers.withLock { RecordID.make(at: now, random: &$0) }
                }
            } catch {
                history.mayHaveCommitted(on: device.name)
                throw error
            }
            for sequence in sequences {
                history.committed(sequence, on: device.name)
                simulation.note(
                    "sends entry \(entry.number) of its journal again as \(sequence)", by: device.name, as: .commit)
            }
            try checkIsSaidAgain(entry, on: device, store)
        case .dismissNewest:
            guard let entry = try store.journal(state: .active, limit: 1).first else { return }
            history.saw(entry, on: device.name)
            journals.dealsWith(entry.number, on: device.name)
            try store.dismiss(journal: entry.number)
            simulation.note("dismisses \(entry.number)", by: device.name)
        }
    }

    /// What was refused or taken back is here again, all of it.
    private static func checkIsSaidAgain(
        _ entry: JournalEntry, on device: SimulatedDevice, _ store: SimulatedDevice.Store
    ) throws {
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction):
            var edits: [RecordEdit] = []
            for mutation in transaction.mutations {
                let (collection, record) = (mutation.collection, mutation.record)
                switch mutation.intent {
                case .delete:
                    // Another space may have the id by now: what is there was not meant.
                    let home = try store.space(of: collection, record)
                    if home == nil || home == transaction.space { edits.append(.delete(collection, record)) }
                case .create, .update: edits.append(.update(collection, record, mutation.patch))
                }
            }
            try checkReadsItsWrites(edits, on: device, store)
        case .merged, .overwritten, .forgotten: return
        }
    }

    private static func checkReadsItsWrites(
        _ edits: [RecordEdit], on device: SimulatedDevice, _ store: SimulatedDevice.Store
    ) throws {
        for edit in edits {
            let found = try store.record(edit.collection, .id(edit.record))
            switch edit {
            case .delete:
                if found != nil { throw Violation(.I6, "\(device.name) reads \(edit.words) after it was deleted") }
            case .create(_, _, let patch), .update(_, _, let patch):
                guard let found, let schema = store.catalog[edit.collection] else {
                    throw Violation(.I6, "\(device.name) does not read \(edit.words) that it has written")
                }
                for (field, value) in patch {
                    guard let position = schema.position(of: field), found.values[position] == value else {
                        throw Violation(.I6, "\(device.name) reads another \(field) than it wrote to \(edit.words)")
                    }
                }
            }
        }
    }

    /// What a transaction creates and deletes goes to the server in one piece.
    private static func checkWritesAreTogether(
        _ edits: [RecordEdit], at sequence: OutboxSequence, on device: SimulatedDevice, _ store: SimulatedDevice.Store
    ) throws {
        let newest = try store.outbox(after: OutboxSequence(rawValue: sequence.rawValue - 1), limit: 2)
        guard let entry = newest.last, entry.sequence == sequence else {
            throw Violation(.I1, "\(device.name) committed \(sequence), which is not the last in its outbox")
        }
        let written = Set(entry.transaction.mutations.map(\.record))
        for edit in edits {
            if case .update = edit { continue }
            guard written.contains(edit.record) else {
                throw Violation(.I10, "\(device.name) committed \(sequence) without its \(edit.words)")
            }
        }
    }

    /// A store may fail where its disk does; anything else is a finding.
    private func note(_ error: any Error, on device: SimulatedDevice) {
        guard let failure = error as? StoreFailure else {
            deeds.withLock { $0.failure = $0.failure ?? error }
            return
        }
        deeds.withLock { $0.refusals[failure.code.rawValue, default: 0] += 1 }
    }
}

extension RecordEdit {
    fileprivate var words: String {
        switch self {
        case .create(let collection, let id, _): "create \(collection) \(id)"
        case .update(let collection, let id, let patch):
            "update \(collection) \(id) \(patch)"
        case .delete(let collection, let id): "delete \(collection) \(id)"
        }
    }
}
