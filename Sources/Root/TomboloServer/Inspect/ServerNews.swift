import SyncAuthority
import SyncModel

/// The latest change of each part of a server's data, by the number of the change.
///
/// A page asks for the news since a number. The source is the state of the database: every push sets its clock, and
/// every change of models and members its revisions. Trimming a change feed sets nothing, so a page shows the new
/// horizon with the next push.
struct ServerNews: Sendable {
    /// The number of the latest change.
    private(set) var latest: Int64 = 1
    private var state: AuthorityState?
    private var extents: [SpaceID: SpaceExtent] = [:]
    private var spaces: [SpaceID: Int64] = [:]
    private var members: Int64 = 1
    private var models: Int64 = 1
    /// The number of the change that began the current history.
    private var history: Int64 = 1

    /// The parts that have changed. Conflicts and clients may change with any push.
    struct Parts: Hashable, Sendable {
        /// The spaces with new commits, ordered by name; nil if everything counts as changed.
        var spaces: [SpaceID]?
        var members: Bool
        var models: Bool

        static let everything = Parts(spaces: nil, members: true, models: true)
    }

    /// Notes the state of the database.
    ///
    /// - Parameter extents: reads the extents of all spaces. It is called only if the state has changed.
    mutating func note(_ state: AuthorityState, extents read: () throws -> [SpaceID: SpaceExtent]) throws {
        guard state != self.state else { return }
        let former = self.state
        let extents = try read()
        self.state = state
        defer { self.extents = extents }
        // Nobody knows a number yet.
        guard let former else { return }
        latest += 1
        if state.history != former.history { history = latest }
        if state.memberRevision != former.memberRevision { members = latest }
        if state.catalogRevision != former.catalogRevision { models = latest }
        for (space, extent) in extents where self.extents[space] != extent { spaces[space] = latest }
    }

    /// Notes that records are counted again. The numbers of a space, which belong to no part, may then be others.
    mutating func noteDueCount() { latest += 1 }

    /// Returns the parts that have changed since the change with this number; nil if none has.
    ///
    /// A number that this run has not given out is that of another run, so everything counts as changed.
    func parts(since number: Int64) -> Parts? {
        guard (1...latest).contains(number) else { return .everything }
        guard number < latest else { return nil }
        guard history <= number else { return .everything }
        return Parts(
            spaces: spaces.filter { $0.value > number }.keys.sorted(), members: members > number,
            models: models > number)
    }
}
