public import SyncModel

/// The rights of a member in a space.
public enum SpaceRole: String, Hashable, Sendable, CaseIterable {
    /// Reads the records of the space.
    case reader
    /// Reads and writes the records of the space.
    case writer

    var access: AccessRules.Access {
        switch self {
        case .reader: .read
        case .writer: .readAndWrite
        }
    }
}

/// An account that an operator has admitted to a space.
public struct SpaceMember: Hashable, Sendable {
    /// The space.
    public let space: SpaceID
    /// The account, which need not have a token yet.
    public let principal: Principal
    /// The rights of the account in the space.
    public let role: SpaceRole

    /// Creates a member.
    public init(space: SpaceID, principal: Principal, role: SpaceRole) {
        self.space = space
        self.principal = principal
        self.role = role
    }
}

extension SpaceMember {
    /// Returns a description of a change for `Revision.next`. None of its texts has a line break.
    ///
    /// - Parameter role: the new role of the principal; nil if it is removed.
    package static func change(to role: SpaceRole?, of principal: Principal, in space: SpaceID) -> String {
        "\(space.rawValue)\n\(principal.name)\n\(role?.rawValue ?? "")"
    }
}

/// The members of all spaces.
public struct SpaceMembers: Hashable, Sendable {
    private var spaces: [SpaceID: [Principal: SpaceRole]] = [:]

    /// Creates the members of all spaces from a list in any order. Without members, the rules decide everywhere.
    public init(_ members: [SpaceMember] = []) {
        for member in members { spaces[member.space, default: [:]][member.principal] = member.role }
    }

    /// Returns the roles of a space's members; nil if it has none.
    func roles(in space: SpaceID) -> [Principal: SpaceRole]? { spaces[space] }
}
