import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

/// A codec for tests of the world itself. It encodes a message as its index in a table, and detects all damage.
final class TableWire: SimulatedWire {
    private struct Table: Sendable {
        var calls: [ServerCall] = []
        var answers: [ServerAnswer] = []
    }

    struct Damaged: Error {}

    private let table = Guarded(Table())

    func encode(_ call: ServerCall) -> [UInt8] {
        write(
            table.withLock { table in
                table.calls.append(call)
                return table.calls.count - 1
            })
    }

    func decodeCall(_ bytes: [UInt8]) throws -> ServerCall {
        let place = try read(bytes)
        return try table.withLock { table in
            guard table.calls.indices.contains(place) else { throw Damaged() }
            return table.calls[place]
        }
    }

    func encode(_ answer: ServerAnswer) -> [UInt8] {
        write(
            table.withLock { table in
                table.answers.append(answer)
                return table.answers.count - 1
            })
    }

    func decodeAnswer(_ bytes: [UInt8], to call: ServerCall) throws(TransportFailure) -> ServerAnswer {
        do {
            let place = try read(bytes)
            return try table.withLock { table in
                guard table.answers.indices.contains(place) else { throw Damaged() }
                return table.answers[place]
            }
        } catch {
            throw TransportFailure(.notUnderstood, "damaged")
        }
    }

    private func write(_ place: Int) -> [UInt8] {
        var hash = StableHash()
        hash.combine(place)
        return [UInt64(bitPattern: Int64(place)), hash.value].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
    }

    private func read(_ bytes: [UInt8]) throws -> Int {
        guard bytes.count == 16 else { throw Damaged() }
        let words = [bytes[..<8], bytes[8...]].map { $0.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        let place = Int(truncatingIfNeeded: words[0])
        guard write(place) == bytes else { throw Damaged() }
        return place
    }
}
