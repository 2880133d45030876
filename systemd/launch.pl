#!/usr/bin/perl
# Starts a program with two open sockets that it could not open itself: Node has no Unix datagram sockets.
#
#   launch.pl PROGRAM [ARG ...]
#
# SITEWARD_NOTIFY_FD: the descriptor of the service manager's socket, if NOTIFY_SOCKET names one (sd_notify(3)).
# SITEWARD_JOURNAL_FD: that of the journal's socket, if a journal runs (systemd.io/JOURNAL_NATIVE_PROTOCOL).
#
# The program replaces this one in the same process, so that it is the service manager's main process. A socket that cannot
# be opened is omitted; the program works without it. Needs only perl-base.
use strict;
use warnings;
use Fcntl qw(F_GETFD F_SETFD F_GETFL F_SETFL FD_CLOEXEC O_NONBLOCK);
use Socket qw(AF_UNIX SOCK_DGRAM pack_sockaddr_un);

# Package variables: a lexical one would be closed at the end of its block, and its descriptor reused for the next file.
our ($notify, $journal);

sub open_to {
  my ($path) = @_;
  # "@" stands for the NUL byte of the abstract namespace.
  (my $name = $path) =~ s/^@/\0/;
  socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or return undef;
  connect($socket, pack_sockaddr_un($name)) or return undef;
  # A busy service manager must not block the program.
  my $status = fcntl($socket, F_GETFL, 0) or return undef;
  fcntl($socket, F_SETFL, $status | O_NONBLOCK) or return undef;
  my $flags = fcntl($socket, F_GETFD, 0) or return undef;
  fcntl($socket, F_SETFD, $flags & ~FD_CLOEXEC) or return undef;
  return $socket;
}

@ARGV or die "launch.pl: no program given\n";
delete @ENV{qw(SITEWARD_NOTIFY_FD SITEWARD_JOURNAL_FD)};
if (($ENV{NOTIFY_SOCKET} // '') ne '') {
  $notify = open_to($ENV{NOTIFY_SOCKET});
  $ENV{SITEWARD_NOTIFY_FD} = fileno $notify if $notify;
}
# Only if the program's output goes to the journal anyway.
if (($ENV{JOURNAL_STREAM} // '') ne '') {
  $journal = open_to('/run/systemd/journal/socket');
  $ENV{SITEWARD_JOURNAL_FD} = fileno $journal if $journal;
}
exec { $ARGV[0] } @ARGV or die "launch.pl: cannot start $ARGV[0]: $!\n";
