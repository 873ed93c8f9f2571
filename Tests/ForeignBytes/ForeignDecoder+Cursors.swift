import SyncAuthority
import SyncModel

extension ForeignDecoder {
    /// Texts that a server writes and later reads again: cursors, which clients send back, and the history mark, which
    /// is a file beside the database.
    static let cursors: [ForeignDecoder] = [
        ForeignDecoder(
            "cursor", seeds: { seeds.map { Array($0.rawValue.utf8) } },
            check: { bytes in
                guard let text = String(validating: bytes, as: UTF8.self),
                    let parsed = PresentedCursor(Cursor(rawValue: text))
                else { return }
                let reissued = parsed.cursor.authenticated(with: key)
                guard let reread = PresentedCursor(reissued), reread.cursor == parsed.cursor,
                    reread.isAuthentic(for: key)
                else {
                    throw PropertyViolation("the cursor is not read back as it was written: \(reissued)")
                }
                guard parsed.isAuthentic(for: key) == text.utf8.elementsEqual(reissued.rawValue.utf8) else {
                    throw PropertyViolation(
                        "a forged cursor is taken for an authentic one, or the other way around: \(text)")
                }
            }),
        ForeignDecoder(
            "mark",
            seeds: { [Array(("tombolo-mark 1\n" + seeds.map(\.rawValue).joined(separator: "\n") + "\n").utf8)] },
            decode: { bytes in
                guard let mark = String(validating: bytes, as: UTF8.self).flatMap(HistoryMark.init(text:)) else {
                    throw PropertyViolation("no mark")
                }
                return mark
            },
            encode: { Array($0.text.utf8) }),
    ]

    private static let key = HistoryKey(words: (1, 2, 3, 4))

    private static let seeds: [Cursor] = {
        let record = RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0001))
        let places: [(SpaceID, FeedCursor.Position)] = [
            (.default, .commits(Version(12))), ("other", .snapshot(Version(7), last: RecordAddress("users", record))),
            (
                .default,
                .receipt(Version(13), ClientIdentity(client: ClientID(bits: record.bits), incarnation: 2), .first)
            ),
        ]
        return places.map { space, place in
            FeedCursor(epoch: Epoch(rawValue: "e1"), space: space, position: place, fingerprint: .start).authenticated(
                with: key)
        }
    }()
}
