/// The server's open connections, and the rule that decides which one a newcomer replaces.
///
/// A connection begins as a stranger's, and becomes a member's with its first request that shows a good token. A full
/// table cuts strangers, the oldest first. Members that are answered nothing at the moment give way too once strangers
/// hold less than `strangerShare` of the table: a newcomer is a stranger at first, and needs the time to show its token.
/// So neither strangers nor members can keep everybody else out.
struct ConnectionTable<ID: Hashable & Sendable>: Sendable {
    struct Limits: Hashable, Sendable {
        /// Connections at one time.
        var total: Int
        /// Connections of one address at one time.
        var perAddress: Int
        /// One part in this many of `total` is left to strangers.
        var strangerShare = SyncServerLimits.strangerShare
    }

    enum Admission: Hashable, Sendable {
        case admitted
        /// The newcomer is in, and this one is to be cut. It is in the table no more.
        case admittedInstead(of: ID)
        /// Every connection that could give way is being answered.
        case refused
    }

    private struct Entry {
        let address: PeerAddress
        var isMember = false
        var requests = 0
    }

    /// The connections of one address, or all of them.
    private struct Group {
        var count = 0
        /// Those without a good token, the oldest first.
        var strangers = AgeQueue<ID>()
        /// Members' that wait for a request, the longest wait first.
        var idleMembers = AgeQueue<ID>()

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

    /// A new connection wants in.
    mutating func admit(_ id: ID, from address: PeerAddress) -> Admission {
        guard entries[id] == nil else { return .admitted }
        var victim: ID?
        if let group = groups[address], group.count >= limits.perAddress {
            guard let oldest = group.strangers.first ?? group.idleMembers.first else { return .refused }
            victim = oldest
        } else if entries.count >= limits.total {
            let keepsStrangers = everyone.strangers.count <= limits.total / limits.strangerShare
            let members = everyone.idleMembers.first
            let strangers = everyone.strangers.first
            guard let oldest = keepsStrangers ? members ?? strangers : strangers ?? members else { return .refused }
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

    /// A request has shown a good token.
    mutating func authenticated(_ id: ID) {
        guard var entry = entries[id], !entry.isMember else { return }
        entry.isMember = true
        entries[id] = entry
        change(entry.address) { group in
            group.strangers.remove(id)
            if entry.requests == 0 { group.idleMembers.append(id) }
        }
    }

    /// A request has come.
    mutating func requestBegan(_ id: ID) {
        guard var entry = entries[id] else { return }
        entry.requests += 1
        entries[id] = entry
        change(entry.address) { group in group.idleMembers.remove(id) }
    }

    /// A request is answered.
    mutating func requestEnded(_ id: ID) {
        guard var entry = entries[id], entry.requests > 0 else { return }
        entry.requests -= 1
        entries[id] = entry
        guard entry.isMember, entry.requests == 0 else { return }
        change(entry.address) { group in group.idleMembers.append(id) }
    }

    /// A connection is closed. One that is not in the table is no error: it was cut, or refused.
    mutating func closed(_ id: ID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        change(entry.address) { group in
            group.count -= 1
            group.strangers.remove(id)
            group.idleMembers.remove(id)
        }
    }

    func isStranger(_ id: ID) -> Bool { entries[id]?.isMember != true }

    private mutating func change(_ address: PeerAddress, _ body: (inout Group) -> Void) {
        body(&everyone)
        body(&groups[address, default: Group()])
        if groups[address]?.isEmpty == true { groups[address] = nil }
    }
}

/// A set that knows which of its members came first.
struct AgeQueue<Element: Hashable & Sendable>: Sendable {
    /// In the order of their coming, with those that have gone since, of which `members` knows another serial or none.
    private var order: [(element: Element, serial: Int)] = []
    private var head = 0
    private var members: [Element: Int] = [:]
    private var serial = 0

    var count: Int { members.count }

    var first: Element? {
        order[head...].first { members[$0.element] == $0.serial }?.element
    }

    /// Adds an element as the youngest; one that is there stays where it is.
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

    /// Keeps `order` in proportion to the members: each element is moved a bounded number of times.
    private mutating func forgetGone() {
        guard order.count > 2 * members.count + 16 else { return }
        order = order[head...].filter { members[$0.element] == $0.serial }
        head = 0
    }
}
