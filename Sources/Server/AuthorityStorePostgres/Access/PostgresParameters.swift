import AuthorityStoreSQL
import CPostgres

/// The values of a statement, as libpq takes them: one buffer, and the position of each value in the buffer.
struct PostgresParameters {
    private var bytes: [UInt8] = []
    private var places: [(offset: Int, length: Int, format: Int32)?] = []

    init(_ values: [StoredValue?]) {
        for value in values {
            guard let value else {
                places.append(nil)
                continue
            }
            let offset = bytes.count
            let format: Int32
            switch value {
            case .integer(let number):
                // Numbers are sent as text, because only the database knows how many bytes the type of the column has.
                bytes.append(contentsOf: String(number).utf8)
                format = 0
            case .text(let text):
                bytes.append(contentsOf: text.utf8)
                format = 1
            case .utf8(let text):
                bytes.append(contentsOf: text)
                format = 1
            case .blob(let blob):
                bytes.append(contentsOf: blob)
                format = 1
            }
            places.append((offset, bytes.count - offset, format))
            // This byte ends the text of a number. It also gives an empty value an address, because a null pointer
            // stands for NULL.
            bytes.append(0)
        }
    }

    /// Begins to run a prepared statement with the values.
    ///
    /// - Returns: 1, or 0 for an error.
    func send(to statement: String, _ handle: OpaquePointer) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers = places.map { place in place.flatMap { place in start.map { $0 + place.offset } } }
            return PQsendQueryPrepared(
                handle, statement, Int32(places.count), pointers, places.map { Int32($0?.length ?? 0) },
                places.map { $0?.format ?? 0 }, 1)
        }
    }
}
