#!/usr/bin/perl
# Starts a program with two sockets open that it could not open itself: Node has no datagram sockets of the file system.
#
#   launch.pl PROGRAM [ARG ...]
#
# SITEWARD_NOTIFY_FD: to the service manager, where NOTIFY_SOCKET names one (sd_notify(3)).
# SITEWARD_JOURNAL_FD: to the journal, where it runs (systemd.io/JOURNAL_NATIVE_PROTOCOL).
#
# The program takes the place of this one, in the same process: to the service manager it is the main process. Whatever
# does not work here is left out; the program does without it. Needs nothing but perl-base.
use strict;
use warnings;
use Fcntl qw(F_GETFD F_SETFD F_GETFL F_SETFL FD_CLOEXEC O_NONBLOCK);
use Socket qw(AF_UNIX SOCK_DGRAM pack_sockaddr_un);

# Variables of the package: a lexical one is closed at the end of its block, and its number given to the next file.
our ($notify, $journal);

sub open_to {
  my ($path) = @_;
  # "@" stands for the NUL byte of the abstract name space.
  (my $name = $path) =~ s/^@/\0/;
  socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or return undef;
  connect($socket, pack_sockaddr_un($name)) or return undef;
  # A service manager that is busy must not hold the program up.
  my $status = fcntl($socket, F_GETFL, 0) or return undef;
  fcntl($socket, F_SETFL, $status | O_NONBLOCK) or return undef;
  my $flags = fcntl($socket, F_GETFD, 0) or return undef;
  fcntl($socket, F_SETFD, $flags & ~FD_CLOEXEC) or return undef;
  return $socket;
}

@ARGV or die "launch.pl: names no program\n";
delete @ENV{qw(SITEWARD_NOTIFY_FD SITEWARD_JOURNAL_FD)};
if (($ENV{NOTIFY_SOCKET} // '') ne '') {
  $notify = open_to($ENV{NOTIFY_SOCKET});
  $ENV{SITEWARD_NOTIFY_FD} = fileno $notify if $notify;
}
# Only where the lines of the program would go to the journal anyway.
if (($ENV{JOURNAL_STREAM} // '') ne '') {
  $journal = open_to('/run/systemd/journal/socket');
  $ENV{SITEWARD_JOURNAL_FD} = fileno $journal if $journal;
}
exec { $ARGV[0] } @ARGV or die "launch.pl: cannot start $ARGV[0]: $!\n";
