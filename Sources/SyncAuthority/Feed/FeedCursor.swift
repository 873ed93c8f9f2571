package import SyncModel

/// What a cursor says. Its text is for the authority alone: format, epoch, space, kind, version, and for a snapshot
/// the last row that was shown, parted by points.
package struct FeedCursor: Hashable, Sendable {
    package let epoch: Epoch
    package let space: SpaceID
    package let place: Place

    package enum Place: Hashable, Sendable {
        /// Every commit up to this version has been shown.
        case log(Version)
        /// Rows up to and with `last` have been shown, in a walk that began at this version.
        case snapshot(Version, last: RecordAddress)
    }

    package init(epoch: Epoch, space: SpaceID, place: Place) {
        self.epoch = epoch
        self.space = space
        self.place = place
    }

    private static let format = "1"

    package var text: Cursor {
        let head = "\(Self.format).\(epoch).\(space)"
        return switch place {
        case .log(let version): Cursor(rawValue: "\(head).log.\(version)")
        case .snapshot(let version, let last):
            Cursor(rawValue: "\(head).rows.\(version).\(last.collection).\(last.id)")
        }
    }

    /// Reads a cursor; nil when this build did not write it exactly so.
    package init?(_ cursor: Cursor) {
        let text = cursor.rawValue
        guard text.utf8.count <= AuthorityLimits.cursorBytes else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 5, parts[0] == Self.format, let space = SpaceID(rawValue: parts[2]),
            Epoch.isWellFormed(parts[1]), let number = Int64(parts[4]), number >= 0
        else { return nil }
        let place: Place
        switch (parts[3], parts.count) {
        case ("log", 5): place = .log(Version(number))
        case ("rows", 7):
            guard let collection = CollectionName(rawValue: parts[5]), let id = RecordID(parts[6]) else { return nil }
            place = .snapshot(Version(number), last: RecordAddress(collection, id))
        default: return nil
        }
        self.init(epoch: Epoch(rawValue: parts[1]), space: space, place: place)
        // One meaning, one text: "+1", "01" and upper-case ids are not ours.
        guard self.text.rawValue.hasSameBytes(as: text) else { return nil }
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
