public import SyncModel

/// The heads of a server's change feeds, in a form that is stored outside its database.
///
/// A database that is behind its mark, or that holds other commits, was restored from an older copy. The mark consists
/// of cursors, so only the server that created it can create another one.
///
/// A restore begins a new history. The mark keeps the last cursors of the earlier ones, because the same backup can be
/// restored once more.
public struct HistoryMark: Hashable, Sendable {
    /// The newest cursor of each space in the current history.
    public private(set) var cursors: [SpaceID: Cursor]
    /// The last cursors of earlier histories, those of the newest history first.
    public private(set) var formerCursors: [Cursor]
    /// The current history; nil while there is no cursor.
    private var epoch: Epoch?

    /// Creates a mark without cursors, which proves nothing.
    public init() {
        (cursors, formerCursors) = ([:], [])
    }

    private static let format = "tombolo-mark 1"

    /// The text of the mark: a line that names the format, then one cursor per line. Those of the current history come
    /// first, ordered by the names of the spaces.
    public var text: String {
        ([Self.format] + all.map(\.rawValue)).joined(separator: "\n") + "\n"
    }

    fileprivate var all: [Cursor] { cursors.sorted { $0.key < $1.key }.map(\.value) + formerCursors }

    /// Parses a mark. Returns nil for any other text. A mark that cannot be read proves nothing.
    public init?(text: String) {
        let most = 1 + 2 * AuthorityLimits.markedSpaces
        let lines = text.split(separator: "\n", maxSplits: most).map(String.init)
        guard lines.first == Self.format, lines.count <= most, text.hasSuffix("\n") else { return nil }
        self.init()
        for line in lines.dropFirst() {
            let cursor = Cursor(rawValue: line)
            guard let shown = PresentedCursor(cursor)?.cursor else { return nil }
            if epoch == nil { epoch = shown.epoch }
            if shown.epoch == epoch, formerCursors.isEmpty {
                cursors[shown.space] = cursor
            } else {
                formerCursors.append(cursor)
            }
        }
    }

    /// Records the newest cursor of a space. Spaces beyond the limit are left out.
    ///
    /// - Parameter epoch: The history of the cursor. If it is a new one, the cursors so far become former ones.
    mutating func note(_ cursor: Cursor, of space: SpaceID, in epoch: Epoch) {
        if epoch != self.epoch {
            (formerCursors, cursors) = (Array(all.prefix(AuthorityLimits.markedSpaces)), [:])
            self.epoch = epoch
        }
        guard cursors[space] != nil || cursors.count < AuthorityLimits.markedSpaces else { return }
        cursors[space] = cursor
    }
}

extension Authority {
    /// Moves the mark of these spaces to the heads in the store, never ahead of what is durable.
    ///
    /// - Parameter spaces: the spaces to update; nil for all of them.
    public func update(_ mark: inout HistoryMark, of spaces: [SpaceID]? = nil) throws(AuthorityError) {
        let (epoch, cursors) = try read { view -> (Epoch, [(SpaceID, Cursor)]) in
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
            return (history.epoch, cursors)
        }
        for (space, cursor) in cursors { mark.note(cursor, of: space, in: epoch) }
    }

    /// Begins a new history if the mark proves that the database was restored from an older copy.
    ///
    /// - Returns: the loss; nil when the mark proves nothing.
    @discardableResult
    public func recognizeRestore(by mark: HistoryMark) throws(AuthorityError) -> LostHistory? {
        let found = try read { view -> (lost: LostHistory, cursor: Cursor)? in
            let check = HistoryCheck(history: try view.state().history, witness: .mark)
            for cursor in mark.all {
                if case .lost(let lost) = try check.examine(cursor, in: view) { return (lost, cursor) }
            }
            return nil
        }
        guard let found else { return nil }
        try renewHistory(because: found.lost, shownBy: [found.cursor])
        return found.lost
    }
}
