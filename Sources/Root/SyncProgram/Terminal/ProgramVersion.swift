/// The version of the programs.
public enum ProgramVersion {
    /// The version that `--version` prints and that recordings contain.
    public static let text = "0.1.0"
}
