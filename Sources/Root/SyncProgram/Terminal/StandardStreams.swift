import Glibc

/// The descriptors 0 to 2 of this process.
public enum StandardStreams {
    /// Opens `/dev/null` for each of these descriptors that is closed.
    ///
    /// Otherwise the next file that the program opens, such as its database, gets the free number, and output for
    /// people is written into that file. Reading from the replacement of standard input fails, and so does writing to
    /// the replacement of standard output, because a lost result must be reported.
    public static func open() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // open(2) returns the lowest free number, and all lower ones are open by now.
            let mode = descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY
            guard Glibc.open("/dev/null", mode) == descriptor else { _exit(1) }
        }
    }

    /// Lets writes to standard error fail instead of waiting for its reader, if it is a pipe.
    ///
    /// The log of this package does not wait anyway. But C libraries write to standard error directly: libpq does so
    /// while it connects. The pipe is opened again, so that other processes that write to it still wait.
    public static func stopWaitingForReadersOfErrors() {
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        let descriptor = Glibc.open("/proc/self/fd/\(STDERR_FILENO)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        dup2(descriptor, STDERR_FILENO)
        close(descriptor)
    }
}
