"""Words that people use for each other when they ask about software and rules."""

from __future__ import annotations

VERBS = """
change modify edit alter update adjust
rotate replace renew swap
delete remove erase drop discard
create make add set-up generate
build compile assemble
start launch run begin boot
stop halt quit end terminate shut-down
fix repair resolve solve correct
find locate look-up search-for discover
show display print list view
hide conceal suppress
install set-up deploy
uninstall remove
configure set-up customize set
enable turn-on activate switch-on allow
disable turn-off deactivate switch-off
allow permit let
forbid block prevent deny disallow
check verify test validate confirm
send submit post transmit
receive get accept
get fetch retrieve obtain read
save store keep persist write
load import read-in
export dump download
upload send put
connect link attach join hook-up
disconnect detach unlink
copy duplicate clone
move transfer relocate migrate
rename change-the-name-of
upgrade update move-to-a-newer-version-of
restore recover bring-back roll-back
revert undo roll-back
share publish give-access-to
join combine merge put-together
split divide break-up separate
limit restrict cap throttle
grow scale expand
shrink reduce decrease cut-down
increase raise
speed-up optimize make-faster tune
debug troubleshoot find-the-problem-with diagnose
monitor watch observe track keep-an-eye-on
schedule plan
automate script
secure protect harden lock-down
encrypt scramble
choose select pick decide-on
specify define declare state set
convert transform turn translate
handle deal-with process manage
call invoke use
execute run
log record write-down
compare contrast
avoid prevent get-around
wrap enclose surround
filter narrow-down
sort order arrange
count tally
request ask-for apply-for
report tell-about
learn understand
explain describe
"""

NOUNS = """
key token secret credential password
error failure problem issue bug exception
message notification alert warning
setting option parameter preference flag
configuration settings setup
file document
folder directory
user account person member
permission right access privilege
role group
machine computer host server
server backend
client frontend
application app program software
package library module dependency
function method routine
argument parameter input
variable value
command instruction
image picture
page screen view
website site
database data-store db
table sheet
record row entry
column field
query search request
list array sequence
dictionary map hash object
string text
number integer
version release
upgrade update
backup copy snapshot
job task
schedule timetable cron
queue backlog
event trigger
test check spec
certificate cert tls-certificate
network connection
address url link
repository repo
branch line-of-development
commit change
environment env
container docker-container
cluster group-of-machines
label tag
metric measurement number
dashboard overview
performance speed
memory ram
storage disk disk-space
timeout time-limit
limit maximum quota
default standard
example sample
guide tutorial how-to
documentation docs manual
employee worker staff-member
colleague teammate coworker
vacation leave time-off holiday
salary pay
expense cost
meeting call
manager boss supervisor
customer client
goal objective aim
rule policy guideline
"""


def sets_of(text: str) -> list[list[str]]:
    """The sets in a table, one on each line; `-` joins the words of a phrase."""
    rows = (line.split() for line in text.splitlines())
    return [[word.replace("-", " ") for word in row] for row in rows if row]
