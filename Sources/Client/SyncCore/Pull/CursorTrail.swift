package import SyncModel

/// Detects a cycle in a sequence of cursors while storing only one of them (Brent 1980).
///
/// The stored mark moves to the current cursor after one step, then two, then four, and so on. It therefore ends up
/// inside any cycle, and the cycle is detected when the mark comes back.
package struct CursorTrail: Hashable, Sendable {
    package private(set) var mark: Cursor
    package private(set) var steps: Int
    package private(set) var reach: Int

    package init(mark: Cursor, steps: Int = 0, reach: Int = 1) {
        self.mark = mark
        self.steps = steps
        self.reach = reach
    }
}

extension CursorTrail? {
    mutating func follow(_ cursor: Cursor?) {
        guard let cursor else { return self = nil }
        guard let trail = self else { return self = CursorTrail(mark: cursor) }
        self =
            trail.steps + 1 == trail.reach
            ? CursorTrail(mark: cursor, steps: 0, reach: trail.reach.multipliedReportingOverflow(by: 2).partialValue)
            : CursorTrail(mark: trail.mark, steps: trail.steps + 1, reach: trail.reach)
    }
}
