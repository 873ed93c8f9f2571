import SyncModel

extension SyncEngine {
    /// Starts a request in its own task, which posts its result to the mailbox.
    func begin(_ action: SyncAction) {
        let mailbox = mailbox
        let transport = transport
        switch action {
        case .sendHello(let serial):
            tasks[serial] = runtime.spawn {
                let result: Result<ServerHello, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.hello())
                } catch {
                    result = .failure(error)
                }
                mailbox.post(.helloEnded(serial, result))
            }
        case .push(let serial, let request):
            tasks[serial] = runtime.spawn {
                let result: Result<PushReply, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.push(request))
                } catch {
                    result = .failure(error)
                }
                mailbox.post(.pushEnded(serial, result))
            }
        case .pull(let serial, let request):
            tasks[serial] = runtime.spawn {
                let result: Result<PullReply, TransportFailure>
                do throws(TransportFailure) {
                    result = .success(try await transport.pull(request))
                } catch {
                    result = .failure(error)
                }
                mailbox.post(.pullEnded(serial, request.space, result))
            }
        case .openHints(let serial, let spaces):
            tasks[serial] = runtime.spawn {
                let wanted = Set(spaces)
                do {
                    for try await hint in transport.hints(for: spaces) where wanted.contains(hint.space) {
                        mailbox.post(.hint(serial, hint))
                    }
                    mailbox.post(.hintsEnded(serial, "the server closed the stream"))
                } catch {
                    let pause = (error as? TransportFailure)?.retryAfter
                    mailbox.post(.hintsEnded(serial, "\(error)", retryAfter: pause))
                }
            }
        case .closeHints, .abandon, .countOutbox, .takeBatch, .record, .withdraw, .apply, .resetCursor, .vacate, .adopt,
            .renewIdentity, .note, .checkpoint, .arm, .disarm, .finish:
            preconditionFailure("\(action) is not a request")
        }
    }
}
