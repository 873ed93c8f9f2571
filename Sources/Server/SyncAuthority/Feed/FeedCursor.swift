package import SyncModel

/// A client's position in a space, within one history.
package struct FeedCursor: Hashable, Sendable {
    package let epoch: Epoch
    package let space: SpaceID
    package let position: Position
    /// The fingerprint of the space's history at the version of `position`.
    package let fingerprint: HistoryFingerprint

    package enum Position: Hashable, Sendable {
        /// The client has received every commit up to this version.
        case commits(Version)
        /// The client has received all rows up to and including `last`, in a snapshot that began at this version.
        case snapshot(Version, last: RecordAddress)
        /// A receipt: the server has applied a transaction of this client, whose outcome names this version.
        case receipt(Version, ClientIdentity, TransactionNumber)

        package var version: Version {
            switch self {
            case .commits(let version), .snapshot(let version, _), .receipt(let version, _, _): version
            }
        }
    }

    package init(epoch: Epoch, space: SpaceID, position: Position, fingerprint: HistoryFingerprint) {
        self.epoch = epoch
        self.space = space
        self.position = position
        self.fingerprint = fingerprint
    }

    /// Returns the text that clients store and send back. Only the holder of the key can create it.
    package func authenticated(with key: HistoryKey) -> Cursor {
        let content = content
        return Cursor(rawValue: "\(content).\(key.tag(of: content))")
    }

    private static let format = "1"

    /// The text without its tag: format, epoch, space, version, fingerprint, and kind, separated by dots. A snapshot
    /// cursor adds the last row that was sent; a receipt adds the client and the number of its transaction.
    fileprivate var content: String {
        let head = "\(Self.format).\(epoch).\(space).\(position.version).\(fingerprint.bits)"
        return switch position {
        case .commits: "\(head).log"
        case .snapshot(_, let last): "\(head).rows.\(last.collection).\(last.id)"
        case .receipt(_, let identity, let number):
            "\(head).receipt.\(identity.client).\(identity.incarnation).\(number)"
        }
    }

    fileprivate init?(content parts: [String]) {
        guard parts.count >= 6, parts[0] == Self.format, Epoch.isWellFormed(parts[1]),
            let space = SpaceID(rawValue: parts[2]), let number = Int64(parts[3]), number >= 0,
            let fingerprint = Identifier128(text: parts[4])
        else { return nil }
        let version = Version(number)
        let position: Position
        switch (parts[5], parts.count) {
        case ("log", 6): position = .commits(version)
        case ("rows", 8):
            guard let collection = CollectionName(rawValue: parts[6]), let id = RecordID(parts[7]) else { return nil }
            position = .snapshot(version, last: RecordAddress(collection, id))
        case ("receipt", 9):
            guard let client = ClientID(parts[6]), let incarnation = Int(parts[7]), incarnation >= 0,
                let number = Int64(parts[8]), number >= 0
            else { return nil }
            position = .receipt(
                version, ClientIdentity(client: client, incarnation: incarnation), TransactionNumber(number))
        default: return nil
        }
        self.init(
            epoch: Epoch(rawValue: parts[1]), space: space, position: position,
            fingerprint: HistoryFingerprint(bits: fingerprint))
    }
}

/// A cursor that a client has sent, with its tag. Call `isAuthentic(for:)` before trusting it.
package struct PresentedCursor: Hashable, Sendable {
    package let cursor: FeedCursor
    private let tag: Identifier128

    /// Parses a cursor without checking its tag. Returns nil unless the text is exactly what an authority writes.
    package init?(_ text: Cursor) {
        guard text.rawValue.utf8.count <= AuthorityLimits.cursorBytes else { return nil }
        var parts = text.rawValue.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let last = parts.popLast(), let tag = Identifier128(text: last), let cursor = FeedCursor(content: parts)
        else { return nil }
        self.cursor = cursor
        self.tag = tag
        // Each cursor has exactly one text: "+1", "01", and upper-case ids are rejected.
        guard "\(cursor.content).\(tag)".hasSameBytes(as: text.rawValue) else { return nil }
    }

    /// Returns whether the holder of the key created the cursor, as its tag proves. The comparison takes constant time.
    package func isAuthentic(for key: HistoryKey) -> Bool {
        let expected = key.tag(of: cursor.content)
        return (tag.high ^ expected.high) | (tag.low ^ expected.low) == 0
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
