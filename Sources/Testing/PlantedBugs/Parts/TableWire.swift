import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

/// A codec for tests of the world itself. It encodes a message as its index in a table and a hash that reveals damage.
final class TableWire: SimulatedWire {
    private struct Table: Sendable {
        var requests: [ServerRequest] = []
        var answers: [Result<ServerResponse, TransportError>] = []
    }

    struct Damaged: Error {}

    private let table = Guarded(Table())

    var requestHeaderBytes: Int { 0 }

    func encode(_ request: ServerRequest) -> [UInt8] {
        write(
            table.withLock { table in
                table.requests.append(request)
                return table.requests.count - 1
            })
    }

    func decodeRequest(_ bytes: [UInt8]) throws -> ServerRequest {
        let place = try read(bytes)
        return try table.withLock { table in
            guard table.requests.indices.contains(place) else { throw Damaged() }
            return table.requests[place]
        }
    }

    func encode(_ response: ServerResponse, to request: ServerRequest) -> [UInt8] {
        write(.success(response))
    }

    func encode(_ failure: TransportError) -> [UInt8] {
        write(.failure(failure))
    }

    private func write(_ response: Result<ServerResponse, TransportError>) -> [UInt8] {
        write(
            table.withLock { table in
                table.answers.append(response)
                return table.answers.count - 1
            })
    }

    func decodeResponse(
        _ bytes: [UInt8], to request: ServerRequest
    ) throws(TransportError) -> ServerResponse {
        let response = table.withLock { table in
            (try? read(bytes)).flatMap { table.answers.indices.contains($0) ? table.answers[$0] : nil }
        }
        guard let response else { throw TransportError(.notUnderstood, "damaged") }
        return try response.get()
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
