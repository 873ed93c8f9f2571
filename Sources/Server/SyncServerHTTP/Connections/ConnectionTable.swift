/// The server's open connections, and the rule that decides which of them a new connection replaces.
///
/// A connection begins as a stranger, and becomes a member with its first request that has a valid token. A new
/// connection to a full table replaces the oldest stranger. But while strangers hold at most their reserved share
/// (`unauthenticatedShare`), the new one replaces the member that has been idle for longest, because strangers need
/// time to present their tokens. If there is no connection of the preferred kind, the new one replaces one of the other
/// kind. As a result, neither strangers nor members can keep all others out. If every connection is a member with a
/// request in progress, the new one replaces the oldest event stream, which a device needs only to learn of changes
/// sooner.
///
/// If an address has `perAddress` connections, a new one from there replaces the oldest stranger of the address, or
/// else its member that has been idle for longest, or else its oldest event stream.
struct ConnectionTable<ID: Hashable & Sendable>: Sendable {
    struct Limits: Hashable, Sendable {
        /// Maximum number of open connections.
        var total: Int
        /// Maximum number of open connections from one address.
        var perAddress: Int
        /// The divisor that gives the share of `total` reserved for strangers: 4 reserves a quarter.
        var unauthenticatedShare = SyncServerLimits.unauthenticatedShare
    }

    enum Admission: Hashable, Sendable {
        case admitted
        /// The new connection is admitted, and the caller must close this one, which is no longer in the table.
        case admittedInstead(of: ID)
        /// Every connection of the full table, or of the address, is a member with a request in progress that is no
        /// event stream.
        case refused
    }

    private struct Entry {
        let address: PeerAddress
        var isMember = false
        var requests = 0
    }

    /// The connections of one address, or of all addresses.
    private struct Group {
        var count = 0
        /// The connections without a valid token, the oldest first.
        var strangers = AgeQueue<ID>()
        /// The members without a request in progress, the longest idle first.
        var idleMembers = AgeQueue<ID>()
        /// The members whose request in progress is an event stream, the longest open first.
        var streams = AgeQueue<ID>()

        var isEmpty: Bool { count == 0 }
    }

    private let limits: Limits
    private var entries: [ID: Entry] = [:]
    private var everyone = Group()
    private var groups: [PeerAddress: Group] = [:]

    init(limits: Limits) {
        self.limits = limits
    }

    var count: Int { entries.count }
    var strangers: Int { everyone.strangers.count }

    /// Admits a new connection if there is room or another connection can be closed for it.
    mutating func admit(_ id: ID, from address: PeerAddress) -> Admission {
        guard entries[id] == nil else { return .admitted }
        var victim: ID?
        if let group = groups[address], group.count >= limits.perAddress {
            guard let oldest = group.strangers.first ?? group.idleMembers.first ?? group.streams.first
            else { return .refused }
            victim = oldest
        } else if entries.count >= limits.total {
            let keepsStrangers = everyone.strangers.count <= limits.total / limits.unauthenticatedShare
            let members = everyone.idleMembers.first
            let strangers = everyone.strangers.first
            let preferred = keepsStrangers ? members ?? strangers : strangers ?? members
            guard let oldest = preferred ?? everyone.streams.first else { return .refused }
            victim = oldest
        }
        if let victim { closed(victim) }
        entries[id] = Entry(address: address)
        change(address) { group in
            group.count += 1
            group.strangers.append(id)
        }
        return victim.map { .admittedInstead(of: $0) } ?? .admitted
    }

    /// Notes that a request on the connection had a valid token.
    mutating func authenticated(_ id: ID) {
        guard var entry = entries[id], !entry.isMember else { return }
        entry.isMember = true
        entries[id] = entry
        change(entry.address) { group in
            group.strangers.remove(id)
            if entry.requests == 0 { group.idleMembers.append(id) }
        }
    }

    /// Notes that a request has begun.
    mutating func requestBegan(_ id: ID) {
        guard var entry = entries[id] else { return }
        entry.requests += 1
        entries[id] = entry
        change(entry.address) { group in group.idleMembers.remove(id) }
    }

    /// Notes that the request in progress is an event stream.
    mutating func streamBegan(_ id: ID) {
        guard let entry = entries[id], entry.isMember, entry.requests == 1 else { return }
        change(entry.address) { group in group.streams.append(id) }
    }

    /// Notes that a request has ended.
    mutating func requestEnded(_ id: ID) {
        guard var entry = entries[id], entry.requests > 0 else { return }
        entry.requests -= 1
        entries[id] = entry
        guard entry.isMember, entry.requests == 0 else { return }
        change(entry.address) { group in
            group.streams.remove(id)
            group.idleMembers.append(id)
        }
    }

    /// Removes a closed connection. Does nothing if the connection was refused or has already been replaced.
    mutating func closed(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        change(entry.address) { group in
            group.count -= 1
            group.strangers.remove(id)
            group.idleMembers.remove(id)
            group.streams.remove(id)
        }
    }

    private mutating func change(_ address: PeerAddress, _ body: (inout Group) -> Void) {
        body(&everyone)
        body(&groups[address, default: Group()])
        if groups[address]?.isEmpty == true { groups[address] = nil }
    }
}

/// A set that knows which of its elements was added first.
struct AgeQueue<Element: Hashable & Sendable>: Sendable {
    /// The elements in the order in which they were added. Removed elements remain here until `forgetGone()`; `members`
    /// has a different serial, or none, for them.
    private var order: [(element: Element, serial: Int)] = []
    private var head = 0
    private var members: [Element: Int] = [:]
    private var serial = 0

    var count: Int { members.count }

    var first: Element? {
        order[head...].first { members[$0.element] == $0.serial }?.element
    }

    /// Adds an element as the newest one. An element that is already present keeps its place.
    mutating func append(_ element: Element) {
        guard members[element] == nil else { return }
        serial += 1
        members[element] = serial
        order.append((element, serial))
        forgetGone()
    }

    mutating func remove(_ element: Element) {
        guard members.removeValue(forKey: element) != nil else { return }
        while head < order.count, members[order[head].element] != order[head].serial { head += 1 }
        forgetGone()
    }

    /// Removes from `order` the elements that are no longer members, once they outnumber the members by more than 16.
    /// `append` and `remove` thus take amortized constant time.
    private mutating func forgetGone() {
        guard order.count > 2 * members.count + 16 else { return }
        order = order[head...].filter { members[$0.element] == $0.serial }
        head = 0
    }
}
