//! Event 028: attributes of the job that accompany another event (`WriteUserLog::writeJobAdInfoEvent`).

use super::{EventBody, EventKind, JobEvent};
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{AttrName, ClassAd, Context, Value};

impl JobEvent {
    /// Returns event 028 for this event, with the attributes of the job's ad that JobAdInformationAttrs names, or
    /// `None` if JobAdInformationAttrs is not set.
    pub fn job_ad_information_event(&self, ad: &ClassAd, world: &dyn World) -> Option<JobEvent> {
        let names = Context::new(world).my(ad).string("JobAdInformationAttrs")?;
        self.job_ad_information_event_of(&names, ad, world)
    }

    /// Returns event 028 for this event with the given attributes, or `None` if there are no attributes.
    pub fn job_ad_information_event_of(
        &self,
        names: &[u8],
        ad: &ClassAd,
        world: &dyn World,
    ) -> Option<JobEvent> {
        if names.is_empty() {
            return None;
        }
        let context = Context::new(world).my(ad);
        let mut information = self.to_ad();
        for name in list::split(names) {
            let value = context.eval_attr(name);
            if value.as_str().is_some() || matches!(value, Value::Bool(_) | Value::Int(_) | Value::Real(_)) {
                information.set(AttrName::from(name), value);
            }
        }
        information.set("TriggerEventTypeNumber", i64::from(self.number));
        let kind = EventKind::from_number(self.number);
        information.set("TriggerEventTypeName", kind.map_or("ULOG_FUTURE_EVENT", EventKind::name));
        information.set("EventTypeNumber", i64::from(EventKind::JobAdInformation.number()));
        let body = EventBody::JobAdInformation(Box::new(information));
        Some(JobEvent::new(self.cluster, self.proc, self.time, body))
    }
}
