/// One event in a world. An event that is impossible at its time is skipped, such as killing a process that is already
/// dead.
public enum WorldEvent: Hashable, Sendable {
    /// A user performs an operation, which depends on the seed and on the records that the device shows.
    case operation(device: Int, seed: UInt64)
    case device(Int, DeviceFault)
    case server(ServerFault)
    /// A disk gets a fault for one or more of its next operations.
    case disk(Party, DiskFault)

    /// The index of the device that the event affects; nil for the server.
    public var place: Int? {
        switch self {
        case .operation(let place, _), .device(let place, _), .disk(.device(let place), _): place
        case .server, .disk(.server, _): nil
        }
    }
}

/// The faults of a device, its process, and its link.
public enum DeviceFault: Hashable, Sendable {
    /// The device starts if it is dead, wakes if it is suspended, and is reconnected if it is cut off.
    case recovers
    case killed
    /// The engine is asked to stop, as when an application is closed. A new process starts when the device recovers.
    case stops
    /// The device loses power. The seed chooses which unsynced writes survive.
    case losesPower(seed: UInt64)
    case suspended
    case cutOff(SimulatedNetwork.Direction)
    case losesLink
    /// The wall clock is wrong by this much from now on.
    case clock(wrongBy: Duration)
    /// An image of the disk is kept.
    case imageKept
    /// The kept image is restored.
    case rolledBack
    /// The wall clock runs fast by this many parts per million; negative values run slow.
    case clockDrifts(Int)
    /// The next requests get this response, if it applies to them.
    case meets(ScriptedResponse, times: Int)
    /// The server lies in its responses to the next requests that the lie applies to.
    case receivesFalseResponses(Lie, times: Int)
    /// Another device's disk is copied to this one.
    case cloned(from: Int)
    /// A second engine starts on the same database.
    case rivalStarts
    /// Other programs fill the disk except for this many bytes.
    case diskFilled(leaving: Int)
    /// The file system becomes read-only, as the kernel makes it after an error.
    case diskReadOnly
    /// Another user logs in. An application should tell its engine about the new token, but not every application does.
    case userChanges(isAnnounced: Bool)
    /// The user agrees to the deletions that the mass-delete brake has stopped.
    case deletesAllowed
    /// A device with the earlier build is upgraded to the current one and restarted.
    case upgraded
}

/// The faults of the server and of its machine, and the tasks of its operator.
public enum ServerFault: Hashable, Sendable {
    case recovers
    case killed
    case losesPower(seed: UInt64)
    /// The server removes all but the newest commits from its change feeds.
    case compacted(keeping: Int)
    /// The server removes all but the newest conflicts.
    case conflictsTrimmed(keeping: Int)
    case backedUp
    /// The last backup is restored and a new epoch begins.
    case restored
    /// The last backup is restored without telling the server, which has to detect it.
    case restoredSilently
    /// A stranger with a valid account makes a push that no real client would make: under the client id of a device, or
    /// with false claims. The seed chooses which.
    case forged(seed: UInt64)
    /// An empty server takes over the same address.
    case emptied
    case diskFilled(leaving: Int)
    /// The file system becomes read-only, as the kernel makes it after an error.
    case diskReadOnly
    /// A second process serves the same database beside the first. Killing one of them leaves the other running.
    case secondStarts
    /// A server with the earlier build is upgraded to the current one and restarted.
    case upgraded
    /// Each request waits this long before it is handled.
    case slowed(by: Duration)
    /// The wall clock is wrong by this much from now on.
    case clock(wrongBy: Duration)
    /// The owner of a device loses access to a space, or gets it back. The server restarts with the new rules.
    case accessChanged(device: Int, space: Int)
    /// The operator changes the size of the records that each account may store. The server restarts with the new
    /// limit.
    case quotaChanged(bytes: Int)
}
