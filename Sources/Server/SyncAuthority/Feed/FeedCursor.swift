package import SyncModel

/// A client's position in a space and a history.
package struct FeedCursor: Hashable, Sendable {
    package let epoch: Epoch
    package let space: SpaceID
    package let place: Place
    /// The fingerprint of the space's history at the version of `place`.
    package let chain: HistoryChain

    package enum Place: Hashable, Sendable {
        /// The client has received every commit up to this version.
        case log(Version)
        /// The client has received all rows up to and including `last`, in a snapshot that began at this version.
        case snapshot(Version, last: RecordAddress)
        /// A receipt: the server has applied a transaction of this client, whose outcome names this version.
        case receipt(Version, ClientIdentity, TransactionNumber)

        package var version: Version {
            switch self {
            case .log(let version), .snapshot(let version, _), .receipt(let version, _, _): version
            }
        }
    }

    package init(epoch: Epoch, space: SpaceID, place: Place, chain: HistoryChain) {
        self.epoch = epoch
        self.space = space
        self.place = place
        self.chain = chain
    }

    /// Returns the text that clients store and send back. Only the holder of the key can create it.
    package func sealed(with key: HistoryKey) -> Cursor {
        let content = content
        return Cursor(rawValue: "\(content).\(key.seal(of: content))")
    }

    private static let format = "1"

    /// The text without its seal: format, epoch, space, version, chain, and kind, separated by dots. A snapshot adds the last
    /// row that was sent, and a receipt adds the client and the number of its transaction.
    fileprivate var content: String {
        let head = "\(Self.format).\(epoch).\(space).\(place.version).\(chain.bits)"
        return switch place {
        case .log: "\(head).log"
        case .snapshot(_, let last): "\(head).rows.\(last.collection).\(last.id)"
        case .receipt(_, let identity, let number):
            "\(head).receipt.\(identity.client).\(identity.incarnation).\(number)"
        }
    }

    fileprivate init?(content parts: [String]) {
        guard parts.count >= 6, parts[0] == Self.format, Epoch.isWellFormed(parts[1]),
            let space = SpaceID(rawValue: parts[2]), let number = Int64(parts[3]), number >= 0,
            let chain = Identifier128(text: parts[4])
        else { return nil }
        let version = Version(number)
        let place: Place
        switch (parts[5], parts.count) {
        case ("log", 6): place = .log(version)
        case ("rows", 8):
            guard let collection = CollectionName(rawValue: parts[6]), let id = RecordID(parts[7]) else { return nil }
            place = .snapshot(version, last: RecordAddress(collection, id))
        case ("receipt", 9):
            guard let client = ClientID(parts[6]), let incarnation = Int(parts[7]), incarnation >= 0,
                let number = Int64(parts[8]), number >= 0
            else { return nil }
            place = .receipt(
                version, ClientIdentity(client: client, incarnation: incarnation), TransactionNumber(number))
        default: return nil
        }
        self.init(
            epoch: Epoch(rawValue: parts[1]), space: space, place: place, chain: HistoryChain(bits: chain))
    }
}

/// A cursor that a client has sent, with the seal that proves its origin.
package struct SealedCursor: Hashable, Sendable {
    package let cursor: FeedCursor
    private let seal: Identifier128

    /// Parses a cursor without checking its seal. Returns nil for any text that an authority would not write exactly
    /// so.
    package init?(_ text: Cursor) {
        guard text.rawValue.utf8.count <= AuthorityLimits.cursorBytes else { return nil }
        var parts = text.rawValue.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let last = parts.popLast(), let seal = Identifier128(text: last), let cursor = FeedCursor(content: parts)
        else { return nil }
        self.cursor = cursor
        self.seal = seal
        // Each cursor has exactly one text: "+1", "01", and upper-case ids are rejected.
        guard "\(cursor.content).\(seal)".hasSameBytes(as: text.rawValue) else { return nil }
    }

    /// Returns whether the holder of the key created the cursor. The comparison takes constant time.
    package func isAuthentic(for key: HistoryKey) -> Bool {
        let expected = key.seal(of: cursor.content)
        return (seal.high ^ expected.high) | (seal.low ^ expected.low) == 0
    }
}

extension Epoch {
    /// Returns whether a text has the form of an epoch, which is safe in cursors, URLs, and logs.
    package static func isWellFormed(_ text: String) -> Bool {
        guard !text.isEmpty, text.utf8.count <= AuthorityLimits.epochBytes else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
