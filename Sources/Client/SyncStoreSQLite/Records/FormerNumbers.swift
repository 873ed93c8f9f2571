import SyncCore
import SyncModel

/// The text format of `sync_outbox.formerly`: client/incarnation/number/hash of each former number, separated by
/// spaces.
enum FormerNumbers {
    /// Returns the largest number of bytes that former numbers add to a push. Each number is one JSON object.
    static func wireBytes(of numbers: [FormerNumber]) -> Int { numbers.count * 200 }

    static func text(of numbers: [FormerNumber]) -> String? {
        guard !numbers.isEmpty else { return nil }
        return numbers.map { "\($0.identity)/\($0.number)/\($0.hash)" }.joined(separator: " ")
    }

    static func read(_ text: String?, of place: @autoclosure () -> String) throws -> [FormerNumber] {
        guard let text else { return [] }
        var numbers: [FormerNumber] = []
        for item in text.split(separator: " ") {
            let parts = item.split(separator: "/")
            guard parts.count == 4, let client = ClientID(parts[0]), let incarnation = Int(parts[1]),
                let number = Int64(parts[2])
            else { throw StoreError(.corrupt, "\(place()): its former numbers cannot be read") }
            numbers.append(
                FormerNumber(
                    identity: ClientIdentity(client: client, incarnation: incarnation),
                    number: TransactionNumber(number), hash: PayloadHash(rawValue: String(parts[3]))))
        }
        return numbers
    }
}
