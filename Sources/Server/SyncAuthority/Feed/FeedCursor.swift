package import SyncModel

/// Where a client stands in a space, and in which history.
package struct FeedCursor: Hashable, Sendable {
    package let epoch: Epoch
    package let space: SpaceID
    package let place: Place
    /// The fingerprint of the space's history at the version of `place`.
    package let chain: HistoryChain

    package enum Place: Hashable, Sendable {
        /// Every commit up to this version has been shown.
        case log(Version)
        /// Rows up to and with `last` have been shown, in a walk that began at this version.
        case snapshot(Version, last: RecordAddress)

        package var version: Version {
            switch self {
            case .log(let version), .snapshot(let version, _): version
            }
        }
    }

    package init(epoch: Epoch, space: SpaceID, place: Place, chain: HistoryChain) {
        self.epoch = epoch
        self.space = space
        self.place = place
        self.chain = chain
    }

    /// The text that clients keep and show. Only the holder of the key can make it.
    package func sealed(with key: HistoryKey) -> Cursor {
        let content = content
        return Cursor(rawValue: "\(content).\(key.seal(of: content))")
    }

    private static let format = "1"

    /// Format, epoch, space, version, chain, kind, and for a snapshot the last row that was shown, separated by dots.
    fileprivate var content: String {
        let head = "\(Self.format).\(epoch).\(space).\(place.version).\(chain.bits)"
        return switch place {
        case .log: "\(head).log"
        case .snapshot(_, let last): "\(head).rows.\(last.collection).\(last.id)"
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
        default: return nil
        }
        self.init(
            epoch: Epoch(rawValue: parts[1]), space: space, place: place, chain: HistoryChain(bits: chain))
    }
}

/// A cursor as a client shows it: what it says, and the seal that may prove who made it.
package struct SealedCursor: Hashable, Sendable {
    package let cursor: FeedCursor
    private let seal: Identifier128

    /// Reads a cursor; nil when no authority writes it exactly so. Its seal is still to be checked.
    package init?(_ text: Cursor) {
        guard text.rawValue.utf8.count <= AuthorityLimits.cursorBytes else { return nil }
        var parts = text.rawValue.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let last = parts.popLast(), let seal = Identifier128(text: last), let cursor = FeedCursor(content: parts)
        else { return nil }
        self.cursor = cursor
        self.seal = seal
        // Each cursor has one text: "+1", "01" and upper-case ids are not ours.
        guard "\(cursor.content).\(seal)".hasSameBytes(as: text.rawValue) else { return nil }
    }

    /// Whether the holder of the key has made the cursor. Takes the same time whichever bytes differ.
    package func isAuthentic(for key: HistoryKey) -> Bool {
        let expected = key.seal(of: cursor.content)
        return (seal.high ^ expected.high) | (seal.low ^ expected.low) == 0
    }
}

extension Epoch {
    /// Whether a text can be an epoch of ours: it stands in cursors, URLs and logs.
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
