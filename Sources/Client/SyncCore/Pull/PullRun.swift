/// The pages that follow each other without a rest, and what they have brought.
///
/// A server can announce more forever, with a cursor and a version that advance each time. A run therefore ends with a
/// contradiction after too many changes, or after too many pages with hardly any.
package struct PullRun: Hashable, Sendable {
    /// Number of records that the pages have changed.
    package private(set) var changes: Int
    /// Number of pages with hardly any changes. Each other page makes up for two of them.
    package private(set) var thinPages: Int

    package init(changes: Int = 0, thinPages: Int = 0) {
        self.changes = changes
        self.thinPages = thinPages
    }

    /// Maximum number of changes in one run: as many as the largest snapshot has records.
    static let mostChanges = 10_000_000
    /// Maximum number of thin pages in one run. A server that keeps 100,000 notices sends them in 1,000 pages.
    static let mostThinPages = 2_000
    /// A page is thin when it has less than this part of the requested rows. The largest rows fill a page early.
    private static let thinness = 256

    /// Counts a page after which more is to be pulled.
    ///
    /// - Parameters:
    ///   - changed: number of records that the page has changed.
    ///   - rows: number of rows that were requested.
    /// - Returns: the reason why the run must end; nil to continue.
    package mutating func pageArrived(changed: Int, of rows: Int) -> String? {
        changes += changed
        let isThin = changed < max(1, rows / Self.thinness)
        thinPages = max(0, thinPages + (isThin ? 1 : -2))
        if thinPages > Self.mostThinPages {
            return "has sent \(thinPages) pages with hardly any records, and announces more"
        }
        if changes > Self.mostChanges {
            return
                "has sent \(changes) changes without a pause, and announces more; expected at most \(Self.mostChanges)"
        }
        return nil
    }
}
