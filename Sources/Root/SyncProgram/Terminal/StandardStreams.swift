import Glibc

/// The descriptors 0 to 2 of this process.
public enum StandardStreams {
    /// Opens those that are closed on `/dev/null`.
    ///
    /// Otherwise the next file that the program opens, such as its database, gets the number, and output for people is
    /// written into that file. Reading the replacement fails, and so does writing to that of standard output, because
    /// a lost result must be reported.
    public static func open() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // The lowest free number is given out first, and all lower ones are open by now.
            let mode = descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY
            guard Glibc.open("/dev/null", mode) == descriptor else { _exit(1) }
        }
    }
}
