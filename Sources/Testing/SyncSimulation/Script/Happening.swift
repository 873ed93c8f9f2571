/// One thing that happens in a world. What is impossible when its turn comes does not happen: nobody kills the dead.
public enum Happening: Hashable, Sendable {
    /// A user does something; what, depends on the seed and on what the device shows.
    case operation(device: Int, seed: UInt64)
    case device(Int, DeviceFault)
    case server(ServerFault)
    /// A fault waits among the next operations of a disk.
    case disk(Party, DiskFault)

    /// The device that this happens to.
    public var place: Int? {
        switch self {
        case .operation(let place, _), .device(let place, _), .disk(.device(let place), _): place
        case .server, .disk(.server, _): nil
        }
    }
}

/// The faults of a device, its process and its link.
public enum DeviceFault: Hashable, Sendable {
    /// A dead device starts, a sleeping one wakes, and one that is cut off is connected again.
    case recovers
    case killed
    /// Its engine is asked to stop, as when an application is closed; a new process starts when it recovers.
    case stops
    /// The seed chooses what of the unsynced stays.
    case losesPower(seed: UInt64)
    case suspended
    case cutOff(SimulatedNetwork.Direction)
    case losesLink
    /// Its wall clock is wrong by so much from now on.
    case clock(wrongBy: Duration)
    /// Someone keeps an image of its disk.
    case imageKept
    /// Someone puts the image back.
    case rolledBack
    /// Its wall clock goes too fast by so many parts in a million; negative is too slow.
    case clockDrifts(Int)
    /// The next requests meet this.
    case meets(ScriptedAnswer, times: Int)
    /// The server lies to the next requests that the lie is for.
    case isToldLies(Lie, times: Int)
    /// Someone copies another device's disk to this one.
    case cloned(from: Int)
    /// A second engine starts on the same database, without having asked for the lease.
    case rivalStarts
    /// Other programs leave so many bytes of its disk.
    case diskFilled(leaving: Int)
    /// As the kernel makes a file system after an error: what is there can be read, and nothing written.
    case diskReadOnly
    /// Someone else logs in. An application should tell its engine; not all do.
    case userChanges(isTold: Bool)
    /// Its user agrees to deletions that the engine holds back.
    case deletesAllowed
    /// A device of the earlier build gets the current one, and starts again.
    case upgraded
}

public enum ServerFault: Hashable, Sendable {
    case recovers
    case killed
    case losesPower(seed: UInt64)
    /// It forgets how it came to the older part of what it holds, but for so many commits.
    case compacted(keeping: Int)
    case backedUp
    /// The last backup is put back, under a new epoch.
    case restored
    /// The last backup is put back, and nobody says so: the server has to find out.
    case restoredSilently
    /// Somebody with an account of their own pushes what no client of ours would: under the client id of a device, or with
    /// claims that cannot be true. The seed chooses which.
    case forged(seed: UInt64)
    /// Another server answers under the same address: it knows nothing.
    case emptied
    case diskFilled(leaving: Int)
    /// As the kernel makes a file system after an error: what is there can be read, and nothing written.
    case diskReadOnly
    /// A second process serves the same database beside the first; what kills one of them leaves the other.
    case secondStarts
    /// A server of the earlier build gets the current one, and starts again.
    case upgraded
    /// Each request waits so long for its turn.
    case slowed(by: Duration)
    /// Its wall clock is wrong by so much from now on.
    case clock(wrongBy: Duration)
    /// The owner of a device loses its access to a space, or gets it back: it starts with other rules.
    case accessChanged(device: Int, space: Int)
}
