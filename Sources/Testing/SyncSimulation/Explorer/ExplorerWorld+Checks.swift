import SyncCore
import SyncModel

extension ExplorerWorld {
    /// Describes the first invariant that this world violates; nil when all hold.
    func violation() -> String? {
        let payloads = server.applied
        if Set(payloads).count != payloads.count { return "I2: a payload took effect twice: \(payloads)" }
        for device in devices {
            let mine = payloads.compactMap { sequence(of: $0, by: device) }
            if mine != mine.sorted() { return "I3: \(device.name)'s writes took effect in the order \(mine)" }
            let kept = Set(device.store.outbox.map(\.sequence)).union(device.store.journal).union(mine)
            for sequence in 1...max(1, device.store.written) where device.store.written > 0 && !kept.contains(sequence)
            {
                return
                    "I1: write \(sequence) of \(device.name) is neither in the outbox, nor in the journal, nor on the server"
            }
            if let cursor = device.store.cursor {
                if cursor > server.head {
                    return "I8: \(device.name) stands at \(cursor), past the head \(server.head)"
                }
                if device.store.base != server.records(upTo: cursor) {
                    return "I5: \(device.name) at \(cursor) does not hold the first \(cursor) commits"
                }
            }
        }
        return nil
    }

    /// Describes the first invariant that is violated at rest; nil when all hold.
    func violationAtRest() -> String? {
        for device in devices {
            if !device.store.outbox.isEmpty {
                return "I18: \(device.name) rests with an outbox of \(device.store.outbox.count)"
            }
            if server.shutOut.contains(device.store.client) {
                if !device.store.base.isEmpty {
                    return "I21: \(device.name) was shut out, and holds \(device.store.base.count) records"
                }
            } else if device.store.base != server.records(upTo: server.head) {
                return "I4: \(device.name) differs from the server"
            }
            if !device.session.status(now: .zero).isInSync {
                return "I18: \(device.name) holds everything, but its status says otherwise"
            }
        }
        return nil
    }

    private func sequence(of payload: PayloadHash, by device: ExplorerDevice) -> Int? {
        let parts = payload.rawValue.split(separator: "/")
        return parts.first.map(String.init) == device.store.client.description ? parts.last.flatMap { Int($0) } : nil
    }
}
