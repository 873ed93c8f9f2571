/// What a device's store promises of a commit that has returned.
public enum DeviceDurability: Hashable, Sendable {
    /// It survives a loss of power.
    case full
    /// It survives the death of the process. With the power, the newest commits may be lost, back to the last flush.
    case normal
}
