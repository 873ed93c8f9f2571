public import SyncModel

/// The heads of a server's change feeds, in a form that is stored outside its database.
///
/// A database that is behind its mark, or that holds other commits, was restored from an older copy. The mark consists
/// of cursors, so only the server that created it can create another one.
public struct HistoryMark: Hashable, Sendable {
    /// The newest cursor of each space.
    public private(set) var cursors: [SpaceID: Cursor]

    /// Creates a mark without cursors, which proves nothing.
    public init() {
        cursors = [:]
    }

    private static let format = "tombolo-mark 1"

    /// The text of the mark: a line that names the format, then one cursor per line, ordered by the names of the
    /// spaces.
    public var text: String {
        ([Self.format] + cursors.sorted { $0.key < $1.key }.map(\.value.rawValue)).joined(separator: "\n") + "\n"
    }

    /// Parses a mark. Returns nil for any other text. A mark that cannot be read proves nothing.
    public init?(text: String) {
        let lines = text.split(separator: "\n", maxSplits: AuthorityLimits.markedSpaces + 1).map(String.init)
        guard lines.first == Self.format, lines.count <= AuthorityLimits.markedSpaces + 1, text.hasSuffix("\n") else {
            return nil
        }
        cursors = [:]
        for line in lines.dropFirst() {
            guard let shown = PresentedCursor(Cursor(rawValue: line)) else { return nil }
            cursors[shown.cursor.space] = Cursor(rawValue: line)
        }
    }

    /// Records the newest cursor of a space. Spaces beyond the limit are left out.
    mutating func note(_ cursor: Cursor, of space: SpaceID) {
        guard cursors[space] != nil || cursors.count < AuthorityLimits.markedSpaces else { return }
        cursors[space] = cursor
    }
}

extension Authority {
    /// Moves the mark of these spaces to the heads in the store, never ahead of what is durable.
    ///
    /// - Parameter spaces: the spaces to update; nil for all of them.
    public func update(_ mark: inout HistoryMark, of spaces: [SpaceID]? = nil) throws(AuthorityError) {
        let cursors = try read { view -> [(SpaceID, Cursor)] in
            let history = try view.state().history
            var cursors: [(SpaceID, Cursor)] = []
            let wanted: [SpaceID]
            if let spaces { wanted = spaces } else { wanted = try view.extents().keys.sorted() }
            for space in wanted {
                let head = try view.extent(of: space).head
                guard head > .zero, let fingerprint = try view.fingerprint(at: head, in: space) else { continue }
                let cursor = FeedCursor(
                    epoch: history.epoch, space: space, position: .commits(head), fingerprint: fingerprint)
                cursors.append((space, cursor.authenticated(with: history.key)))
            }
            return cursors
        }
        for (space, cursor) in cursors { mark.note(cursor, of: space) }
    }

    /// Begins a new history if the mark proves that the database was restored from an older copy.
    ///
    /// - Returns: the loss; nil when the mark proves nothing.
    @discardableResult
    public func recognizeRestore(by mark: HistoryMark) throws(AuthorityError) -> LostHistory? {
        let found = try read { view -> (lost: LostHistory, cursor: Cursor)? in
            let check = HistoryCheck(history: try view.state().history, witness: .mark)
            for (_, cursor) in mark.cursors.sorted(by: { $0.key < $1.key }) {
                if case .lost(let lost) = try check.examine(cursor, in: view) { return (lost, cursor) }
            }
            return nil
        }
        guard let found else { return nil }
        try renewHistory(because: found.lost, shownBy: [found.cursor])
        return found.lost
    }
}
